import type { NewEvent } from '../../contract/events.ts'
import { EVICTED_EVENT, type EvictionReason } from './residents.ts'

/** One slot was unloaded so that another, or the machine, has its memory. `heldBytes` undefined = not known. Source: SPEC 17. */
export function evictedEvent(eviction: {
  readonly slot: string
  /** The slot that gets the memory; undefined = the machine. */
  readonly wantedBy: string | undefined
  readonly reason: EvictionReason
  readonly heldBytes: number | undefined
}): NewEvent {
  const { slot, wantedBy, reason, heldBytes } = eviction
  const why = wantedBy === undefined ? 'main memory is short' : `slot ${wantedBy} is loaded`
  return {
    type: EVICTED_EVENT,
    severity: 'info',
    source: `slot:${slot}`,
    message: `Slot ${slot} was unloaded because ${why} (${reason})`,
    data: { slot, for: wantedBy ?? null, reason, freed_bytes: heldBytes === undefined ? null : Math.round(heldBytes) },
  }
}

/** A load starts although its memory was not checked (`skipped`), or was found to be short (`warned`). */
export function uncheckedEvent(slot: string, kind: 'skipped' | 'warned', reason: string): NewEvent {
  const what = kind === 'skipped' ? 'was not checked' : 'is short'
  return {
    type: `slot.admission_${kind}`,
    severity: 'warning',
    source: `slot:${slot}`,
    message: `Slot ${slot} is loaded although its memory ${what}: ${reason}`,
    data: { slot, reason },
  }
}

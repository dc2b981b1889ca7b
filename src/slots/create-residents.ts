import type { SlotActor } from './actor/actor.ts'
import { deferred } from './actor/deferred.ts'
import type { EvictionOutcome, EvictionReason, Resident, Residents, Standing } from './admission/residents.ts'

/** The open slots as those see them who need memory. Each question is a message to the slot's actor, which decides for itself. Source: SPEC 7. */
export function createResidents(
  actors: () => Iterable<SlotActor>,
  find: (slot: string) => SlotActor | undefined,
): Residents {
  return {
    list: () => [...actors()].map(residentOf).filter((resident) => resident !== undefined),
    evict: (slot, reason) => {
      const ticket = { reason, untilReady: false, answer: deferred<EvictionOutcome>() }
      const actor = find(slot)
      if (actor === undefined) return Promise.resolve('refused')
      actor.post({ type: 'evict', ticket })
      return ticket.answer.promise
    },
    claim: (slot: string, reason: EvictionReason, { untilReady = false } = {}) => {
      const ticket = { reason, untilReady, answer: deferred<EvictionOutcome>() }
      const actor = find(slot)
      if (actor === undefined) ticket.answer.resolve('refused')
      else actor.post({ type: 'claim', ticket })
      return { gone: ticket.answer.promise, giveUp: () => actor?.post({ type: 'give_up_claim', ticket }) }
    },
  }
}

/** Undefined = it has no process, and none is coming. */
function residentOf(actor: SlotActor): Resident | undefined {
  const { book, drain, evictions, files, life } = actor.parts
  const { phase } = life
  if (phase.kind === 'down') return undefined
  const row = actor.row()
  const engine = phase.kind === 'stopping' ? undefined : phase.engine
  // What runs counts, not what its file says by now.
  const bound = engine?.binding.bound ?? files.bound
  return {
    slot: row.name,
    state: row.state,
    standing: standingOf(phase.kind, book.inFlight + book.queued > 0, drain.isOn),
    device: bound?.config.device ?? row.device,
    gpus: bound?.gpus,
    need: engine?.need,
    pinned: evictions.isPinned,
    priority: row.priority,
    lastUsedMs: evictions.lastUsedMs,
    inFlight: book.inFlight,
    isLanes: row.managed_by === 'lane',
  }
}

function standingOf(kind: 'loading' | 'up' | 'stopping', isUsed: boolean, isDraining: boolean): Standing {
  if (kind !== 'up') return kind
  if (isDraining) return 'stopping'
  return isUsed ? 'busy' : 'quiet'
}

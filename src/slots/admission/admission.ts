import type { Device, LoadPhases } from '../../contract/slot-row.ts'
import type { MemoryNeed } from '../../launch/rules/memory-need.ts'

export type { MemoryMeter, MemoryPool } from '../../hardware/memory-meter.ts'

export interface AdmissionRequest {
  readonly slot: string
  readonly device: Device
  /** The GPUs it may use; undefined = every one. */
  readonly gpus: readonly number[] | undefined
  readonly need: MemoryNeed
  readonly mode: 'enforce' | 'warn' | 'off'
  /** Nobody wants this load any more: the wait ends, claims are given up, `admit` rejects with `signal.reason`. */
  readonly signal: AbortSignal
  /** Monotonic ms at which the oldest request that waits for this slot came; undefined = no request does. */
  readonly oldestWaiterMs: () => number | undefined
  /** In one clause, for the slot's row: what it waits for. '' = nothing any more. */
  readonly onWaiting: (message: string) => void
}

/** Leave to start. */
export interface Admission {
  /** What of the wait was what; absent = did not happen. */
  readonly phases: Pick<LoadPhases, 'queue' | 'evict' | 'drain' | 'release'>
  /** Why it was admitted without a check, or in spite of one; '' = it was checked. */
  readonly note: string
  /** The engine is up, or gone: its memory is measured from now on, no longer promised. Idempotent. */
  settle(): void
}

/**
 * The one desk at which every load of this daemon asks for memory, one at a time. Source: SPEC 7 "Pre-load admission", "Free memory".
 */
export interface MemoryDesk {
  /**
   * Errors: `slot.preload_evict_insufficient` (details: needed_bytes, free_bytes, freed_bytes, evicted, shortfall_bytes, pinned),
   * `slot.loading` (busy slots hold the memory and the wait is over), or the reason of `signal`.
   */
  admit(request: AdmissionRequest): Promise<Admission>
  /** A live process of this slot is about to be ended: what it holds is to come back. Call `ended` when it is dead. */
  stopBegins(stop: {
    readonly slot: string
    readonly device: Device
    readonly gpus: readonly number[] | undefined
    readonly need: MemoryNeed
  }): {
    /** Its main process is dead: what is measured from now on may show its memory as free. Said where it is known before the end. */
    exited?(): void
    ended(): void
  }
}

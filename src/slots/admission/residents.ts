import type { Device } from '../../contract/slot-row.ts'
import type { SlotState } from '../../contract/slot-state.ts'
import type { MemoryNeed } from '../../launch/rules/memory-need.ts'

/** What a slot is to the others that need memory. */
export type Standing =
  /** Ready or idle without a lease. */
  | 'quiet'
  /** Holds a lease. */
  | 'busy'
  /** A load of it runs, or waits for memory. */
  | 'loading'
  | 'stopping'

/** A slot that has a process, or is about to have one. */
export interface Resident {
  readonly slot: string
  readonly state: SlotState
  readonly standing: Standing
  readonly device: Device
  /** The GPUs it may use; undefined = every one. */
  readonly gpus: readonly number[] | undefined
  /** What it was admitted with; undefined = not yet known. */
  readonly need: MemoryNeed | undefined
  readonly pinned: boolean
  /** 0–100; the lowest is evicted first. */
  readonly priority: number
  /** Monotonic ms of the end of its last lease, or of its becoming ready. */
  readonly lastUsedMs: number
  readonly inFlight: number
  /** A lane drives it: nobody else may touch it. */
  readonly isLanes: boolean
}

/** For whom a slot makes way: a load, the machine, a group of slots that exclude each other, nobody, the other GPU mode. Source: SPEC 17. */
export const EVICTION_REASONS = ['preload', 'pressure', 'group', 'idle', 'arbiter'] as const
export type EvictionReason = (typeof EVICTION_REASONS)[number]

/** The event that says so; its `data.reason` is an `EvictionReason`. */
export const EVICTED_EVENT = 'slot.evicted'

/** `refused`: it is busy, pinned, or gone from memory by now; nothing has been done. */
export type EvictionOutcome = 'evicted' | 'refused'

/** A slot that admits no new lease until it is gone, or until the claim is given up. */
export interface Claim {
  /** Never rejects. `evicted`: nothing of its process is left. */
  readonly gone: Promise<EvictionOutcome>
  /** Its callers go on, unless it is being stopped already. Idempotent. */
  giveUp(): void
}

/** The slots as the memory desk and the arbiter see and ask them. Each slot's actor decides again by itself. */
export interface Residents {
  /** Those with a process, or about to have one. */
  list(): readonly Resident[]
  /** Stops it if at this moment it is quiet, not pinned and no lane's. Resolves when nothing of it is left; never rejects. */
  evict(slot: string, reason: EvictionReason): Promise<EvictionOutcome>
  /**
   * From now on it admits no new lease: those who come wait in its queue; those who waited before are still served. It is stopped when its
   * last lease ends by itself; none is cut. Pinned slots too: the caller decides whom it asks. Several claims on one slot count together.
   * `untilReady`: also one that loads is claimed, to make way as soon as it has served those who waited for it.
   */
  claim(slot: string, reason: EvictionReason, options?: { readonly untilReady?: boolean }): Claim
}

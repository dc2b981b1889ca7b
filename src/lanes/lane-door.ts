import type { Caller } from '../access/caller.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { LaneStanding } from './rules/lane-standing.ts'

export type { LaneStanding } from './rules/lane-standing.ts'

/** A request inside a lane, from its arrival to the end of its answer. Whoever entered leaves exactly once. */
export interface LaneStay {
  /** Of the caller's active booking; null = it is nobody's. For the request's record. */
  readonly reservationId: string | null
  /**
   * It holds a lease now: from here on only the loss of access ends it, after the drain limit. Undefined = go on; else it may not be forwarded any
   * more, for this reason (the queue's turn came under another answer of the access list).
   */
  leased(): Hal0Error | undefined
  /** The engine is gone and it waits for another lease: the access list counts again as on arrival. */
  waits(): void
  leave(): void
}

/** What the gateway asks of the lanes. All answers are from memory and cost next to nothing. Source: SPEC 12, 14. */
export interface LaneDoor {
  standing(slot: string, caller: Caller): LaneStanding
  /** The lane whose active booking is the caller's and names this model, also while the default stands in for it. Undefined = none. */
  ownLaneFor(model: string, caller: Caller): string | undefined
  /** Is the engine of this lane one that stands in for a reserved model which cannot be loaded? */
  isFallback(slot: string): boolean
  /**
   * The access list, on arrival. `onEnd`: called at most once, later, while it waits (the list says something else by now) or long after its lease
   * began (it lost access, and the drain limit is over); the caller ends the exchange with that error. Undefined = the slot is no lane's.
   */
  enter(slot: string, caller: Caller, onEnd: (error: Hal0Error) => void): LaneStay | Hal0Error | undefined
}

export type { Caller } from '../access/caller.ts'

import type { SlotFailure } from '../contract/slot-state.ts'
import type { SlotActor } from './actor/actor.ts'
import type { SlotBinding } from './launch/read-binding.ts'

/** Where a slot's process stands at the moment, for whoever drives the slot. */
export interface SlotStanding {
  /** `empty`: up, but without a model to answer with; `draining`: up until its requests have ended, or the drain limit is over. */
  readonly phase: 'down' | 'loading' | 'up' | 'empty' | 'draining' | 'stopping'
  /** What the process was started with; undefined = none was started yet, or it is ending. */
  readonly bound: SlotBinding | undefined
  readonly inFlight: number
  /** Why the slot is in error; undefined = it is not. */
  readonly failure: SlotFailure | undefined
}

/** Costs next to nothing. */
export function standingOf(actor: Pick<SlotActor, 'parts'> | undefined): SlotStanding | undefined {
  if (actor === undefined) return undefined
  const { board, book, drain, life } = actor.parts
  const { phase } = life
  return {
    phase: phase.kind !== 'up' ? phase.kind : drain.isOn ? 'draining' : phase.hasModel ? 'up' : 'empty',
    bound: phase.kind === 'up' || phase.kind === 'loading' ? phase.engine?.binding.bound : undefined,
    inFlight: book.inFlight,
    failure: board.state === 'error' ? board.record.extra.failure : undefined,
  }
}

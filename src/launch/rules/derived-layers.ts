import type { ContextChoice } from '../../contract/slot-row.ts'
import type { SpeculationChoice } from './launch-request.ts'

/** A flag that hal0 adds by itself. */
export interface DerivedFlag {
  readonly flag: string
  readonly values: readonly string[]
  /** An engine that does not know it serves as well without it: then it is left out. Nobody asked for it by name. */
  readonly isDispensable: boolean
}

/** What hal0 adds to each layer, in the order of the command. */
export interface DerivedLayers {
  readonly base: readonly DerivedFlag[]
  readonly model: readonly DerivedFlag[]
  /** Before the profile's own flags, so that those win. */
  readonly profile: readonly DerivedFlag[]
  readonly slot: readonly DerivedFlag[]
}

/** What was decided before flags are written. */
export interface LaunchChoices {
  readonly ctx: ContextChoice
  readonly speculation: SpeculationChoice
  /** The engine embeds or reranks: no template, no vision, no speculation, no thinking. */
  readonly isPooled: boolean
  /** The profile does not say that it does, the slot's type does: the mode has to be switched on. Absent = nothing has to. */
  readonly unsaidMode?: 'embedding' | 'reranking'
  /** Images are wanted and the engine takes the projector. */
  readonly hasVision: boolean
}

/** Every engine listens here and nowhere else. Source: SPEC 14. */
export const ENGINE_HOST = '127.0.0.1'

export function needed(flag: string, ...values: readonly string[]): DerivedFlag {
  return { flag, values, isDispensable: false }
}

export function dispensable(flag: string, ...values: readonly string[]): DerivedFlag {
  return { flag, values, isDispensable: true }
}

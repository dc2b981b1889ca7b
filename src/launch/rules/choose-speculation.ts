import type { EngineAbilities } from '../../contract/runner.ts'
import type { SpeculationMode } from '../../contract/tune.ts'
import type { LaunchModel, SpeculationChoice } from './launch-request.ts'

/** Begins the detail of an `auto` that found nothing to speculate with. Source: SPEC 9. */
export const AUTO_OFF = 'mtp.auto_off_model_ineligible'
/** The tag that says that a model has prediction heads, while its row has no `mtp`. */
export const MTP_TAG = 'mtp'

/** What the choice looks at. */
export interface SpeculationWishes {
  /** `[tune] speculation`. */
  readonly slot?: SpeculationMode | undefined
  readonly profile?: SpeculationMode | undefined
  /** The flag of the profile that chooses the way itself, for example `--spec-type ngram-mod`. */
  readonly flag?: { readonly flag: string; readonly values: readonly string[] } | undefined
  readonly model: Pick<LaunchModel, 'drafter' | 'mtp' | 'tags'> | undefined
  readonly abilities: EngineAbilities
  /** For messages. */
  readonly runner: string
  /** The engine embeds or reranks. */
  readonly isPooled: boolean
}

/**
 * What speculates?
 * 1. An engine that embeds or reranks: nothing.
 * 2. The profile's own flag for it, which wins as the last one.
 * 3. `off`: nothing. 4. `ngram`: lookup, if the engine can.
 * 5. `auto`: the model's drafter, if the engine can; else the model's prediction heads (its `mtp`, else the tag; never its file name), if the
 * engine can; else nothing. Source: SPEC 9 "Speculation".
 */
export function chooseSpeculation(wishes: SpeculationWishes): SpeculationChoice {
  const { slot, profile, flag, abilities, runner } = wishes
  if (wishes.isPooled) return { mode: 'off', detail: 'an engine that embeds or reranks does not speculate' }
  if (flag !== undefined) {
    return { mode: modeOfFlag(flag.values), detail: `the profile's flags say ${[flag.flag, ...flag.values].join(' ')}` }
  }
  const wish = slot ?? profile ?? 'auto'
  const owner = slot === undefined ? 'the profile' : '[tune] of the slot'
  switch (wish) {
    case 'off':
      return { mode: 'off', detail: `${owner} says off` }
    case 'ngram':
      if (abilities.ngram) return { mode: 'ngram', detail: `${owner} says ngram` }
      return { mode: 'off', detail: `${owner} says ngram, which runner ${runner} cannot do` }
    case 'auto':
      return chooseByModel(wishes)
  }
}

function chooseByModel({ model, abilities, runner }: SpeculationWishes): SpeculationChoice {
  const drafter = model?.drafter ?? null
  if (drafter !== null && abilities.drafter) return { mode: 'drafter', detail: 'the model has a drafter' }
  const unused = drafter === null ? 'the model has no drafter' : `runner ${runner} takes no drafter`
  const engine = drafter === null ? `runner ${runner}` : 'it'
  const says = mtpSource(model)
  if (says === undefined) return { mode: 'off', detail: `${AUTO_OFF}: ${unused} and no prediction heads` }
  if (!abilities.mtp)
    return { mode: 'off', detail: `${AUTO_OFF}: ${unused}, and ${engine} cannot use prediction heads` }
  return { mode: 'mtp', detail: `${unused}; the model has prediction heads (${says})` }
}

/** Who says that the model has prediction heads? Undefined = nobody. */
function mtpSource(model: SpeculationWishes['model']): string | undefined {
  if (model === undefined) return undefined
  if (model.mtp !== null) return model.mtp ? 'mtp of its row' : undefined
  return model.tags.includes(MTP_TAG) ? `tag ${MTP_TAG}` : undefined
}

/** What a value of `--spec-type` and its kin means; several are told by the first kind that needs most. */
function modeOfFlag(values: readonly string[]): SpeculationChoice['mode'] {
  const text = values.join(' ').toLowerCase()
  if (/mtp|nextn/.test(text)) return 'mtp'
  if (/draft|eagle|standalone|"model"/.test(text)) return 'drafter'
  if (/ngram|suffix/.test(text)) return 'ngram'
  return /^(none)?$/.test(text) ? 'off' : 'drafter'
}

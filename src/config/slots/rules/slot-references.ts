import { listNames } from '../../../kernel/list-names.ts'
import { selectNearest } from '../../../kernel/nearest-word.ts'
import { isTagRunner } from '../../../runners/rules/service-keys.ts'
import { runnerKeyOf } from './slot-defaults.ts'
import type { SlotOutline } from './slot-outline.ts'

/** What a slot may name. Undefined = it cannot be told (the file is broken), and then nothing is missing. */
export interface KnownNames {
  /** The runner that the slot's profile names; undefined = none, or it cannot be told. */
  readonly profileRunner?: string | undefined
  readonly profiles: readonly string[] | undefined
  readonly models: readonly string[] | undefined
  readonly runners: readonly string[] | undefined
}

/** Something that a slot names and that does not exist. */
export interface MissingReference {
  readonly key: 'profile' | 'model.default' | 'binary'
  readonly code: 'slot.profile_missing' | 'model.not_found' | 'slot.config_error'
  readonly message: string
}

/**
 * What does this slot name that does not exist? With the nearest name that does. A model of a runner that finds its models itself is a
 * name of that runner's, which only its program can check. Source: SPEC 3, 10.
 */
export function findMissingReferences(slot: SlotOutline, known: KnownNames): readonly MissingReference[] {
  const missing: MissingReference[] = []
  if (isMissing(slot.profile, known.profiles)) {
    missing.push({
      key: 'profile',
      code: 'slot.profile_missing',
      message: `there is no profile "${slot.profile}"; ${hint(slot.profile, known.profiles, 'there are')}`,
    })
  }
  const isTag = isTagRunner(runnerKeyOf(slot, known.profileRunner))
  if (slot.modelId !== '' && !isTag && isMissing(slot.modelId, known.models)) {
    missing.push({
      key: 'model.default',
      code: 'model.not_found',
      message: `there is no model "${slot.modelId}" in models.toml; ${hint(slot.modelId, known.models, 'it has')}`,
    })
  }
  if (isMissing(slot.binary, known.runners)) {
    missing.push({
      key: 'binary',
      code: 'slot.config_error',
      message: `there is no runner "${slot.binary}"; ${hint(slot.binary, known.runners, 'there are')}`,
    })
  }
  return missing
}

function isMissing(name: string | undefined, known: readonly string[] | undefined): name is string {
  return name !== undefined && known !== undefined && !known.includes(name)
}

function hint(name: string, known: readonly string[] | undefined, lead: string): string {
  if (known === undefined || known.length === 0) return 'there is none yet'
  const nearest = selectNearest(name, known)
  if (nearest !== undefined) return `did you mean ${nearest}?`
  return `${lead} ${listNames(known)}`
}

import { findModelRow } from '../../config/models/models-file.ts'
import { defaultProfileOf, readProfile } from '../../config/profiles/profiles-file.ts'
import { fitsSlot } from '../../config/profiles/rules/fits-slot.ts'
import { runnerKeyOf } from '../../config/slots/rules/slot-defaults.ts'
import { type SlotConfig, slotFilePath } from '../../config/slots/slot-file.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { isTagRunner } from '../../runners/rules/service-keys.ts'
import { type SourceDeps, sourceOf } from '../slot-source.ts'

/** A model that a swap or a request put into the slot without writing it; it holds until the slot is unloaded or restarted. */
export interface Override {
  readonly modelId: string
  /** The file's own words when a person swapped (`wordsOf`): once they are others, the person has decided anew. */
  readonly over?: string
}

/** What a file says about model and profile, in a form that can be compared. */
export function wordsOf({ model, profile }: SlotConfig): string {
  return JSON.stringify([model.default, profile ?? null])
}

/** What a slot's file says, with an override in its place. */
export interface SlotBinding {
  readonly config: SlotConfig
  /** '' = none bound. */
  readonly modelId: string
  readonly profile: string
  readonly profileSource: 'slot' | 'model' | 'default'
  /** The runner that the profile names; undefined = none, or the profile was not read. */
  readonly profileRunner?: string | undefined
  /** The GPUs it may use. Absent = every one, or it was not asked. */
  readonly gpus?: readonly number[] | undefined
}

/**
 * What is bound to the slot now? The file as it is on disk; `override` replaces the model, and brings the model's preferred profile if
 * that fits. Of a lane's slot, what the lane says. Source: SPEC 3, 4 "swap". Errors: `slot.not_found`, those of `SlotSource`.
 */
export async function readBinding(
  sources: SourceDeps,
  slot: string,
  override: Override | undefined,
): Promise<SlotBinding> {
  const { home } = sources
  const source = sourceOf(sources)
  const config = await source.read(slot)
  if (config === undefined) {
    throw Hal0Error.of('slot.not_found', `slot ${slot} has no file any more (${slotFilePath(home, slot)})`)
  }
  const own = { ...bindingOf(config), gpus: await source.gpusOf(config) }
  const isMeant = override !== undefined && (override.over === undefined || override.over === wordsOf(config))
  if (!isMeant || override.modelId === config.model.default) return withProfileRunner(home, own)
  const preferred = await preferredProfile(home, override.modelId, config)
  return withProfileRunner(home, {
    ...own,
    modelId: override.modelId,
    ...(preferred === undefined ? {} : { profile: preferred, profileSource: 'model' }),
  })
}

/** A profile that cannot be read is told by the launch. */
async function withProfileRunner(home: Home, bound: SlotBinding): Promise<SlotBinding> {
  const profile = await readProfile(home, bound.profile).catch(() => undefined)
  return { ...bound, profileRunner: profile?.body.runner }
}

/** What the file alone says. */
export function bindingOf(config: SlotConfig): SlotBinding {
  return {
    config,
    modelId: config.model.default,
    profile: config.profile ?? defaultProfileOf(config.type),
    profileSource: config.profile === undefined ? 'default' : 'slot',
  }
}

/** The profile that a model would like, when there is one and the slot can run it. Errors: `config.invalid`. */
export async function preferredProfile(home: Home, modelId: string, config: SlotConfig): Promise<string | undefined> {
  if (isTagRunner(runnerKeyOf(config))) return undefined
  const name = (await findModelRow(home, modelId)).preferred_profile
  if (name === undefined) return undefined
  const profile = await readProfile(home, name)
  return profile !== undefined && fitsSlot(profile, config) ? name : undefined
}

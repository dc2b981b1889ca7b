import type { Home } from '../../files/home.ts'
import { readModelRows } from '../models/models-file.ts'
import { readProfiles } from '../profiles/profiles-file.ts'
import { isSeedProfile } from '../profiles/seed-profiles.ts'
import { findGpuClashes } from '../rules/lane-clashes.ts'
import { findNameClashes } from '../rules/names.ts'
import { readSlotOutlines } from '../slots/read-slot-outlines.ts'
import { readLaneOutlines } from './read-lane-outlines.ts'
import type { LaneFinding } from './rules/inspect-lane.ts'
import { findMissingLaneReferences, type LaneOutline } from './rules/lane-outline.ts'

/** Something of a lane that does not agree with what is around it. `code`: undefined = what is told is wrong with the lane itself. */
export type LaneRefFinding = LaneFinding & { readonly code?: 'model.not_found' | 'profile.not_found' | 'slot.exists' }

/**
 * Does what a lane is about to be written as agree with everything around it: its default model and profile, its runner, its name, its GPUs?
 * Only `keys` (top level) are looked at: a change must not fail on what it does not touch; `name` = it is new. Files of others count as far as
 * they can be read. Errors: `config.invalid` (models.toml or profiles.toml has to be read and cannot be). Source: SPEC 3 "Names", 12, CASES 39.
 */
export async function findLaneRefMistakes(
  home: Home,
  lane: LaneOutline,
  keys: ReadonlySet<string>,
  knownRunners: readonly string[],
): Promise<readonly LaneRefFinding[]> {
  const found: LaneRefFinding[] = []
  const { profile } = lane
  const asksModels = (keys.has('default') && lane.modelId !== '') || keys.has('name')
  const needsProfiles = keys.has('default') && profile !== undefined && !isSeedProfile(profile)
  const profiles = needsProfiles ? await readProfiles(home) : undefined
  const models = asksModels ? [...(await readModelRows(home)).keys()] : undefined
  const known = {
    // The lane's own runner is what the profile does not say otherwise.
    profileRunner: profile === undefined ? undefined : profiles?.get(profile)?.body.runner,
    profiles: profiles && [...profiles.keys()],
    models: keys.has('default') ? models : undefined,
    runners: keys.has('runner') ? knownRunners : undefined,
  }
  for (const { key, message, code } of findMissingLaneReferences(lane, known)) {
    found.push({ key, message, ...(code === 'config.invalid' ? {} : { code }) })
  }
  const [outlines, slots] = await Promise.all([readLaneOutlines(home), readSlotOutlines(home)])
  const others = outlines.filter(({ name }) => name !== lane.name)
  if (keys.has('gpus')) {
    const wanted = { ...lane, isNew: keys.has('name') }
    const clashes = findGpuClashes([...others, wanted], slots).filter(({ lanes }) => lanes.includes(lane.name))
    found.push(...clashes.map(({ message }) => ({ key: 'gpus', message })))
  }
  if (keys.has('name')) {
    const lanes = others.map(({ name }) => name)
    const clash = findNameClashes({ slots, lanes, newLane: lane.name, models: models ?? [] }).find(
      ({ name }) => name === lane.name,
    )
    if (clash !== undefined) found.push({ key: 'name', message: clash.message, code: 'slot.exists' })
  }
  return found
}

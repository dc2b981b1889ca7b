import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { readLaneOutlines } from '../lanes/read-lane-outlines.ts'
import { readModelRows } from '../models/models-file.ts'
import { defaultProfileOf, readProfile, readProfiles } from '../profiles/profiles-file.ts'
import { isSeedProfile } from '../profiles/seed-profiles.ts'
import { findGpuClashes } from '../rules/lane-clashes.ts'
import { findNameClashes } from '../rules/names.ts'
import { readSlotOutlines } from './read-slot-outlines.ts'
import { findSlotClashes, gatewayPortText } from './rules/slot-clashes.ts'
import { outlineOf, placeOf, type SlotOutline } from './rules/slot-outline.ts'
import { findMissingReferences, type MissingReference } from './rules/slot-references.ts'
import { listSlotFiles, slotFilePath } from './slot-file.ts'
import type { GuardedSlot } from './slot-gate.ts'

export interface SlotRefsDeps {
  readonly home: Home
  readonly knownRunners: () => readonly string[]
  /** The port that hal0 itself listens on. */
  readonly gatewayPort?: (() => number | undefined) | undefined
  /** A slot whose names become free with this write: it is being renamed. */
  readonly replaces?: string
}

/**
 * Does what a slot is about to be written as agree with everything around it: its model, its profile, its runner, and the names, ports
 * and roles of others? Only `keys` (top level) are looked at: a change must not fail on what it does not touch. Files of others count as
 * far as they can be read. Errors: `model.not_found`, `slot.profile_missing`, `slot.config_error` (runner, a second default,
 * a GPU of a lane), `slot.exists` (a clash of names), `slot.port_in_use`, `slot.npu_exclusivity_violation`. Source: SPEC 3 "Names", 8 "NPU", 12.
 */
export async function checkSlotRefs(deps: SlotRefsDeps, slot: GuardedSlot, keys: ReadonlySet<string>): Promise<void> {
  const { home, knownRunners, replaces } = deps
  const { name } = slot
  const { names } = await listSlotFiles(home)
  const self = { ...outlineOf(name, slotFilePath(home, name), slot.payload), isNew: !names.includes(name) }
  const known = {
    profileRunner: keys.has('model') ? await readProfileRunner(home, self) : undefined,
    profiles:
      keys.has('profile') && self.profile !== undefined && !isSeedProfile(self.profile)
        ? [...(await readProfiles(home)).keys()]
        : undefined,
    models: keys.has('model') || keys.has('aliases') || keys.has('name') ? await readModelIds(home) : undefined,
    runners: keys.has('binary') && self.binary !== undefined ? knownRunners() : undefined,
  }
  for (const missing of findMissingReferences(self, known)) {
    if (keys.has(topOf(missing.key))) throw refusal(missing.code, name, missing, REMEDIES[missing.key])
  }
  const others = await readSlotOutlines(home, new Set([name, replaces]))
  if (keys.has('gpu_index')) {
    const clash = findGpuClashes(await readLaneOutlines(home), [self]).find(({ key }) => key === 'gpu_index')
    if (clash !== undefined) throw refusal('slot.config_error', name, clash)
  }
  if (keys.has('name') || keys.has('aliases')) await refuseNameClash(home, self, others, known.models ?? [])
  if (keys.has('port') && self.port !== undefined && self.port === deps.gatewayPort?.()) {
    throw refusal('slot.port_in_use', name, { key: 'port', message: gatewayPortText(self.port) })
  }
  for (const clash of findSlotClashes([...others, self].map(placeOf))) {
    const isTouched = clash.key === 'default' ? keys.has('default') || keys.has('type') : keys.has(clash.key)
    const isOurs = clash.slots.some((one) => one.name === name)
    const makesNpuLlm = clash.key === 'device' && (keys.has('model') || keys.has('type'))
    if (isOurs && (isTouched || makesNpuLlm)) throw refusal(clash.code, name, clash)
  }
}

const REMEDIES: Readonly<Record<MissingReference['key'], string>> = {
  'model.default': 'Register it: `hal0 model add FILE`, or bind one that `hal0 model list` shows.',
  profile: 'Make it: `hal0 profile create NAME`, or use one that `hal0 profile list` shows.',
  binary: 'Use a key that `hal0 runner list` shows.',
}

async function refuseNameClash(
  home: Home,
  self: SlotOutline,
  others: readonly SlotOutline[],
  models: readonly string[],
): Promise<void> {
  const own = new Set([self.name, ...self.aliases])
  const lanes = (await readLaneOutlines(home)).map((lane) => lane.name)
  const clash = findNameClashes({ slots: [...others, self], lanes, models }).find((one) => own.has(one.name))
  if (clash === undefined) return
  throw Hal0Error.of('slot.exists', clash.message, {
    param: clash.name === self.name ? 'name' : 'aliases',
    details: { name: clash.name, owners: clash.owners },
  })
}

/** The runner of the slot's profile, or of its type's seed profile. */
async function readProfileRunner(home: Home, { profile, type }: SlotOutline): Promise<string | undefined> {
  const name = profile ?? defaultProfileOf(type)
  // A broken profiles.toml is told by whoever needs it.
  return (await readProfile(home, name).catch(() => undefined))?.body.runner
}

async function readModelIds(home: Home): Promise<readonly string[]> {
  return [...(await readModelRows(home)).keys()]
}

function topOf(key: string): string {
  return key.split('.', 1)[0] ?? key
}

function refusal(
  code:
    | 'model.not_found'
    | 'slot.profile_missing'
    | 'slot.config_error'
    | 'slot.port_in_use'
    | 'slot.npu_exclusivity_violation',
  slot: string,
  { key, message }: { readonly key: string; readonly message: string },
  remedy?: string,
): Hal0Error {
  return Hal0Error.of(code, `slot ${slot}: ${message}`, {
    param: key,
    details: { slot, mistakes: [{ key, message, code }], ...(remedy === undefined ? {} : { remedy }) },
  })
}

import type { Home } from '../files/home.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { listLaneFiles } from './lane-file.ts'
import { readModelRows } from './models-file.ts'
import { readProfiles } from './profiles-file.ts'
import { findNameClashes, type SlotNames } from './rules/names.ts'
import { selectNearestKey } from './rules/nearest-key.ts'
import { findSlotClashes, type SlotPlace } from './rules/slot-clashes.ts'
import { listSlotFiles, readSlotFile, slotFilePath } from './slot-file.ts'
import type { GuardedSlot } from './slot-gate.ts'

export interface SlotRefsDeps {
  readonly home: Home
  readonly knownRunners: () => readonly string[]
  /** A slot whose names become free with this write: it is being renamed. */
  readonly replaces?: string
}

/**
 * Does what a slot is about to be written as agree with everything around it: its model, its profile, its runner, and the names, ports
 * and roles of others? Only `keys` (top level) are looked at: a change must not fail on what it does not touch. Files of others that
 * cannot be read have no say. Errors: `model.not_found`, `slot.profile_missing`, `validation.invalid`, `slot.exists` (a clash of names),
 * `slot.port_in_use`, `slot.npu_exclusivity_violation`. Source: SPEC 3 "Names", 8 "NPU".
 */
export async function checkSlotRefs(deps: SlotRefsDeps, slot: GuardedSlot, keys: ReadonlySet<string>): Promise<void> {
  const { config, name } = slot
  if (keys.has('model') && config.model.default !== '') await requireModel(deps.home, name, config.model.default)
  if (keys.has('profile') && config.profile !== undefined) await requireProfile(deps.home, name, config.profile)
  if (keys.has('binary') && config.binary !== undefined) requireRunner(deps, name, config.binary)
  await requireNoClash(deps, slot, keys)
}

async function requireModel(home: Home, slot: string, id: string): Promise<void> {
  const ids = [...(await readModelRows(home)).keys()]
  if (ids.includes(id)) return
  throw Hal0Error.of('model.not_found', `slot ${slot}: there is no model "${id}"${hintOf(id, ids)}`, {
    param: 'model.default',
    details: { model: id, remedy: 'Register it: `hal0 model add FILE`, or bind one that `hal0 model list` shows.' },
  })
}

async function requireProfile(home: Home, slot: string, name: string): Promise<void> {
  const names = [...(await readProfiles(home)).keys()]
  if (names.includes(name)) return
  throw Hal0Error.of('slot.profile_missing', `slot ${slot}: there is no profile "${name}"${hintOf(name, names)}`, {
    param: 'profile',
    details: {
      profile: name,
      remedy: `Make it: \`hal0 profile create ${name}\`, or use one that \`hal0 profile list\` shows.`,
    },
  })
}

function requireRunner({ knownRunners }: SlotRefsDeps, slot: string, key: string): void {
  const keys = knownRunners()
  if (keys.includes(key)) return
  throw invalid('binary', `slot ${slot}: there is no runner "${key}"${hintOf(key, keys)}`)
}

async function requireNoClash(
  { home, replaces }: SlotRefsDeps,
  { name, config }: GuardedSlot,
  keys: ReadonlySet<string>,
): Promise<void> {
  const others = await readOthers(home, new Set([name, replaces]))
  const self: SlotNames = { name, aliases: config.aliases, file: slotFilePath(home, name) }
  if (keys.has('name') || keys.has('aliases')) {
    const own = new Set([name, ...config.aliases])
    const models = [...(await readModelRows(home)).keys()]
    const clashes = findNameClashes({
      slots: [...others.map(({ names }) => names), self],
      lanes: (await listLaneFiles(home)).names,
      models,
    })
    const clash = clashes.find((one) => own.has(one.name))
    if (clash !== undefined) {
      throw Hal0Error.of('slot.exists', clash.message, {
        param: clash.name === name ? 'name' : 'aliases',
        details: { name: clash.name, owners: clash.owners },
      })
    }
  }
  const place: SlotPlace = {
    name,
    file: self.file,
    port: config.port,
    type: config.type,
    isDefault: config.default,
    isNpuLlm: config.device === 'npu' && config.type === 'llm' && config.model.default !== '',
  }
  const touched = {
    port: keys.has('port'),
    default: keys.has('default') || keys.has('type'),
    device: keys.has('device') || keys.has('model'),
  }
  for (const clash of findSlotClashes([...others.map((other) => other.place), place])) {
    if (!touched[clash.key] || !clash.slots.some((one) => one.name === name)) continue
    const message = `slot ${name}: ${clash.message}`
    if (clash.key === 'port') throw Hal0Error.of('slot.port_in_use', message, { param: 'port' })
    if (clash.key === 'device') throw Hal0Error.of('slot.npu_exclusivity_violation', message, { param: 'device' })
    throw invalid('default', message)
  }
}

async function readOthers(
  home: Home,
  without: ReadonlySet<string | undefined>,
): Promise<readonly { readonly names: SlotNames; readonly place: SlotPlace }[]> {
  const names = (await listSlotFiles(home)).names.filter((name) => !without.has(name))
  const read = await Promise.all(
    names.map(async (name) => {
      const file = slotFilePath(home, name)
      const config = await readSlotFile(home, name).catch(() => undefined)
      if (config === undefined) return []
      return [
        {
          names: { name, aliases: config.aliases, file },
          place: {
            name,
            file,
            port: config.port,
            type: config.type,
            isDefault: config.default,
            isNpuLlm: config.device === 'npu' && config.type === 'llm' && config.model.default !== '',
          },
        },
      ]
    }),
  )
  return read.flat()
}

function invalid(param: string, message: string): Hal0Error {
  return Hal0Error.of('validation.invalid', message, { param, details: { mistakes: [{ key: param, message }] } })
}

function hintOf(wanted: string, known: readonly string[]): string {
  const nearest = selectNearestKey(wanted, known)
  if (nearest !== undefined) return `; did you mean ${nearest}?`
  return known.length === 0 ? '' : `; there are ${known.slice(0, 12).join(', ')}${known.length > 12 ? ' …' : ''}`
}

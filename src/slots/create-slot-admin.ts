import { rename } from 'node:fs/promises'
import { withWriteLock } from '../config/home/write-lock.ts'
import { findModelRow } from '../config/models/models-file.ts'
import { checkSlotRefs } from '../config/slots/check-slot-refs.ts'
import { isPinned } from '../config/slots/rules/is-pinned.ts'
import { isSeedSlot } from '../config/slots/rules/seed-slot-table.ts'
import { runnerKeyOf } from '../config/slots/rules/slot-defaults.ts'
import { readSlotFile, removeSlotFile, slotFilePath } from '../config/slots/slot-file.ts'
import { guardSlotPatch, guardSlotWrite } from '../config/slots/slot-gate.ts'
import { readSlotData, renameSlotFile, writeSlotFile } from '../config/slots/write-slot.ts'
import { NAME_PATTERN, NAME_RULE } from '../contract/names.ts'
import type { SlotChange, SlotPayload } from '../contract/slot-config.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import { type Home, slotLogPath } from '../files/home.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { isTagRunner } from '../runners/rules/service-keys.ts'
import type { LoadHistory } from '../store/load-history.ts'
import { examineSlot } from './launch/examine-slot.ts'
import { preferredProfile, wordsOf } from './launch/read-binding.ts'
import type { LaunchSources } from './launch/resolve-launch.ts'
import { resolveView } from './launch/resolve-view.ts'
import type { PortPool } from './port-pool.ts'
import { selectChangedKeys } from './rules/changed-keys.ts'
import type { SlotAdmin } from './slot-admin.ts'
import { closingError } from './slot-failures.ts'
import { requireRow, type SlotManager } from './slot-manager.ts'
import { sourceOf } from './slot-source.ts'

export interface SlotAdminDeps extends LaunchSources {
  readonly home: Home
  readonly slots: SlotManager
  readonly ports: PortPool
  /** The port that hal0 itself listens on. */
  readonly gatewayPort: () => number | undefined
  /** What is kept of a slot's loads goes with its name. */
  readonly history: Pick<LoadHistory, 'forget' | 'renamed'>
  /** Seeds are the config room's: what is written for them, and what stays away for good. */
  readonly seeds: {
    readonly reseed: SlotAdmin['reseed']
    addTombstone(name: string): Promise<void>
  }
}

/** What a person may set as a default of a slot's requests. Source: SPEC 16 `PATCH /{n}/defaults`. */
const DEFAULTS: ReadonlySet<string> = new Set([
  'model',
  'default',
  'image',
  'default_voice',
  'default_speed',
  'default_response_format',
])

/** The slots as people manage them; see the port for errors. */
export function createSlotAdmin(deps: SlotAdminDeps): SlotAdmin {
  const { home, slots } = deps
  const knownRunners = () => deps.runners.all().map((runner) => runner.key)
  const refs = { home, knownRunners, gatewayPort: deps.gatewayPort }
  const contextOf = (name: string) => ({ file: slotFilePath(home, name), name, source: 'api' as const })

  /** The slot after its file was written: it has looked at it. */
  async function looked(name: string): Promise<SlotRow> {
    if (slots.row(name) === undefined) await slots.syncFiles()
    return slots.look(name)
  }

  /** What a lane's slot runs at the moment, which no file says. Undefined = it is no lane's. */
  async function readLanes(name: string): Promise<SlotPayload | undefined> {
    const source = sourceOf(deps)
    const config = source.isLanes(name) ? await source.read(name) : undefined
    if (config === undefined) return undefined
    const { type, device, profile, binary, model } = config
    return { name, type, device, ...withoutUndefined({ profile, binary }), model: { ...model } }
  }

  /** Reads, guards, checks, writes; nobody else writes meanwhile. */
  async function change(name: string, patch: SlotPayload, check: () => void = () => {}): Promise<SlotChange> {
    const [before, after] = await withWriteLock(home, async () => {
      const current = await readSlotData(home, name)
      // What is written now would be taken away with the file.
      const leaving = slots.leavingFor(name)
      if (leaving !== undefined) throw closingError(name, leaving)
      const guarded = guardSlotPatch(current, patch, contextOf(name))
      check()
      await checkSlotRefs(refs, guarded, new Set(Object.keys(patch)))
      await writeSlotFile(home, guarded)
      return [current, guarded.payload]
    })
    const row = await looked(name)
    return {
      name,
      config: { ...after },
      changed: [...selectChangedKeys(before, after)],
      restart_needed: [...row.restart_needed],
      problem: row.config_problem,
    }
  }

  return {
    create: async (payload) => {
      const name = requireName(payload['name'])
      await withWriteLock(home, async () => {
        if ((await readSlotFile(home, name).catch(() => 'unreadable')) !== undefined) {
          throw Hal0Error.of('slot.exists', `there is a slot ${name} already (${slotFilePath(home, name)})`, {
            param: 'name',
            details: { slot: name, remedy: `Choose another name, or change it: \`hal0 slot edit ${name}\`.` },
          })
        }
        // Always written: what a file does not say means something else. Source: SPEC 3.
        const guarded = guardSlotWrite({ ...payload, autoload: payload['autoload'] ?? false }, contextOf(name))
        await checkSlotRefs(refs, guarded, new Set(Object.keys(guarded.payload)))
        await writeSlotFile(home, guarded)
      })
      return looked(name)
    },
    config: async (name) => ({ name, config: { ...((await readLanes(name)) ?? (await readSlotData(home, name))) } }),
    updateConfig: (name, patch) => change(name, patch),
    updateDefaults: (name, patch) => change(name, patch, () => requireDefaults(name, patch)),
    remove: async (name, { force, drainMs }) => {
      await requireUnpinned(home, slots, name, force)
      try {
        await slots.retire(name, 'deleted', { drainMs }, async () => {
          await withWriteLock(home, async () => {
            if (isSeedSlot(name)) await deps.seeds.addTombstone(name)
            await removeSlotFile(home, name)
          })
          await slots.forget(name)
          deps.history.forget(name)
        })
      } finally {
        // Where the file could not be removed the slot is there again.
        await slots.syncFiles()
      }
    },
    rename: async (name, to) => {
      const target = requireName(to)
      if (isSeedSlot(name)) {
        throw Hal0Error.of('slot.pinned', `slot ${name} is a seed slot, whose name is its own`, {
          details: { slot: name, remedy: `Make another: \`hal0 slot create ${target} --model ID\`.` },
        })
      }
      try {
        await withWriteLock(home, async () => {
          const guarded = guardSlotWrite({ ...(await readSlotData(home, name)), name: target }, contextOf(target))
          await checkSlotRefs({ ...refs, replaces: name }, guarded, new Set(['name', 'aliases']))
          await slots.retireIfDown(name, 'renamed', async () => {
            await renameSlotFile(home, name, target, 'api')
            await slots.forget(name)
            deps.history.renamed(name, target)
          })
        })
        // Best effort: the slot is renamed whether or not its old log follows.
        await rename(slotLogPath(home, name), slotLogPath(home, target)).catch(() => undefined)
      } finally {
        await slots.syncFiles()
      }
      return looked(target)
    },
    swap: async (name, { modelId, persist, drainMs }) => {
      requireRow(slots, name)
      const config = await readSlotFile(home, name)
      const isTag = config !== undefined && isTagRunner(runnerKeyOf(config))
      if (!isTag) await findModelRow(home, modelId)
      const override = { modelId, ...(config === undefined ? {} : { over: wordsOf(config) }) }
      // Before anything is written or stopped: would it start?
      const { problem } = await examineSlot(deps, name, override, undefined)
      if (problem !== undefined) throw problem
      if (!persist) return slots.swap(name, override, { drainMs })
      const profile = config === undefined ? undefined : await preferredProfile(home, modelId, config)
      await change(name, { model: { default: modelId }, ...(profile === undefined ? {} : { profile }) })
      return slots.swap(name, undefined, { drainMs })
    },
    resolved: (name) => resolveView(deps, slots, name),
    reseed: async (names) => {
      const result = await deps.seeds.reseed(names)
      await slots.syncFiles()
      // Whoever lists them next sees what each of them lacks; one may be gone again by then.
      await Promise.all(result.created.map((name) => slots.look(name).catch(() => undefined)))
      return result
    },
  }
}

function requireName(value: unknown): string {
  if (typeof value === 'string' && NAME_PATTERN.test(value)) return value
  const message = `expected ${NAME_RULE}`
  throw Hal0Error.of('validation.invalid', `name: ${message}`, {
    param: 'name',
    details: { mistakes: [{ key: 'name', message }] },
  })
}

function requireDefaults(name: string, patch: SlotPayload): void {
  const others = Object.keys(patch).filter((key) => !DEFAULTS.has(key))
  if (others.length === 0) return
  const message = `slot ${name}: ${others.join(', ')} is no default of requests; those are ${[...DEFAULTS].join(', ')}`
  throw Hal0Error.of('validation.invalid', message, {
    param: others[0] ?? '',
    details: {
      mistakes: others.map((key) => ({ key, message: 'not a default of requests' })),
      remedy: `Set it with \`hal0 slot edit ${name}\` (PUT /api/slots/${name}/config).`,
    },
  })
}

async function requireUnpinned(home: Home, slots: SlotManager, name: string, force: boolean): Promise<void> {
  const row = requireRow(slots, name)
  if (force) return
  // A file that cannot be read any more says nothing about pins; then the row does.
  const config = await readSlotFile(home, name).catch(() => undefined)
  const isHeld = config === undefined ? row.pinned : isPinned(config)
  const why = isSeedSlot(name) ? 'is a seed slot' : isHeld ? 'is pinned' : undefined
  if (why === undefined) return
  const remedy = `Delete it all the same with \`hal0 slot delete ${name} --force\`.`
  throw Hal0Error.of('slot.pinned', `slot ${name} ${why}`, { details: { slot: name, remedy } })
}

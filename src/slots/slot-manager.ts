import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SlotRow } from '../contract/slot-row.ts'
import { slotStatePath } from '../files/home.ts'
import { messageOf } from '../kernel/errors.ts'
import type { SlotActor } from './actor/actor.ts'
import type { ClosingReason } from './actor/actor-messages.ts'
import { type Deferred, deferred } from './actor/deferred.ts'
import type { StartedBy } from './actor/start-gate.ts'
import type { MemoryDesk } from './admission/admission.ts'
import type { Residents } from './admission/residents.ts'
import { createResidents } from './create-residents.ts'
import { createHotSlots } from './hot-slots.ts'
import type { Override, SlotBinding } from './launch/read-binding.ts'
import { type OpenSlot, type OpenSlotDeps, openSlot } from './open-slot.ts'
import { isShadow } from './rules/shadow-rows.ts'
import { closingError, noSlotError } from './slot-failures.ts'
import { type SlotSource, sourceOf } from './slot-source.ts'
import type { Slots, StopRequest } from './slots.ts'
import { type SlotStanding, standingOf } from './standing.ts'
import { tellUnfit } from './tell-unfit.ts'

export interface SlotManagerDeps extends Omit<OpenSlotDeps, 'onEngineGone' | 'onDown' | 'desk' | 'source'> {
  /** Absent = the slot files alone. */
  readonly source?: SlotSource | undefined
  /** Every load asks there for memory; it asks the slots. */
  readonly openDesk: (residents: Residents) => MemoryDesk
}

/** The slots and what the daemon does to all of them. */
export interface SlotManager extends Slots {
  /** The slots as those see them who need their memory. */
  readonly residents: Residents
  /** Loads what wants to be loaded at start, a few at a time; resolves when all have a verdict. Failures stay in their slots. */
  autoload(): Promise<void>
  /**
   * The settings may say something else now: slots whose file is new are opened, those whose file is gone are closed once nothing of them
   * runs, all others look at their files. Never stops a process. Errors: `config.invalid` when the folder cannot be read.
   */
  sync(): Promise<void>
  /** Only the first half of `sync`: slots are opened and closed, none looks at its files. */
  syncFiles(): Promise<void>
  /** The slot looks at its files; resolves with the row that follows. Errors: `slot.not_found`. */
  look(name: string): Promise<SlotRow>
  /** A model in the place of the file's, or (undefined) what the file says. Errors: as `Slots.restart`. */
  swap(name: string, override: Override | undefined, request: StopRequest): Promise<SlotRow>
  /** What the slot's file binds, as last read; undefined = no such slot, or it cannot be read. */
  bound(name: string): SlotBinding | undefined
  /** What the engine that is up was started with; undefined = none is. */
  running(name: string): SlotBinding | undefined
  /** Undefined = no such slot. */
  standing(name: string): SlotStanding | undefined
  /** Calls back when nothing of a slot runs any more and nothing is about to. Returns the unsubscriber. */
  onDown(listener: (slot: string) => void): () => void
  /** As in the slot's row: keys that a start now would change of what runs. */
  restartNeeded(name: string): readonly string[]
  /** What a swap or a request put in the place of the file's model. */
  override(name: string): Override | undefined
  /**
   * No more leases or loads of this slot; once nothing of it runs, `finish` takes its file away. Until that has ended nothing opens the slot
   * again; if it fails, the next `sync` does. Of a slot that is being retired: shortens its drain, and waits for the same end.
   * Errors: `slot.not_found`, those of `finish`.
   */
  retire(name: string, why: ClosingReason, request: StopRequest, finish: () => Promise<void>): Promise<void>
  /** As `retire`, only for a slot at rest. Errors: also `slot.illegal_transition`. */
  retireIfDown(name: string, why: ClosingReason, finish: () => Promise<void>): Promise<void>
  /** Why this slot will be gone in a moment; undefined = it stays. */
  leavingFor(name: string): ClosingReason | undefined
  /** Forgets state and port of a slot that is no more. */
  forget(name: string): Promise<void>
  /** No more leases or loads; streams may end within `drainMs`; then engines stop, or stay if `keepEngines`. */
  close(options: { readonly drainMs: number; readonly keepEngines: boolean }): Promise<void>
}

/** Slots that load at once while the daemon starts. Source: SPEC 10 "autoload". */
const AUTOLOAD_AT_ONCE = 2

/** Slots that look at their files at once. */
const LOOKS_AT_ONCE = 4

/** Errors: `slot.not_found`, naming those there are. */
export function requireRow(slots: Pick<Slots, 'row' | 'rows'>, name: string): SlotRow {
  const row = slots.row(name)
  if (row !== undefined) return row
  const known = slots.rows().map((other) => other.name)
  throw noSlotError(name, known)
}

/**
 * One actor per slot file, and per lane. A file that cannot be used gives a slot that says so; one whose name can be no slot's is told to log and bus.
 * Errors: `config.invalid` when the folder of the slot files cannot be read.
 */
export async function openSlots(deps: SlotManagerDeps): Promise<SlotManager> {
  const listeners = new Set<(attemptId: string) => void>()
  const downListeners = new Set<(slot: string) => void>()
  const source = sourceOf(deps)
  const open = new Map<string, OpenSlot>()
  const residents = createResidents(
    () => [...open.values()].map(({ actor }) => actor),
    (name) => open.get(name)?.actor,
  )
  const hot = createHotSlots({
    find: (name) => open.get(name)?.actor,
    all: () => [...open.values()].map(({ actor }) => actor),
  })
  const slotDeps: OpenSlotDeps = {
    ...{ ...deps, source },
    managedBy: (name) => (source.isLanes(name) ? 'lane' : deps.managedBy(name)),
    desk: deps.openDesk(residents),
    onEngineGone: (attemptId) => {
      for (const listener of listeners) listener(attemptId)
    },
    onDown: (name) => {
      for (const listener of downListeners) listener(name)
      if (orphans.delete(name)) void sync()
    },
  }
  /** Being closed, until their files are gone too, by name: nothing of them is opened meanwhile, though the file may still be there. */
  const leaving = new Map<string, { readonly why: ClosingReason; readonly left: Promise<void> }>()
  /** Slots whose file is gone while they run: to be closed at their end. */
  const orphans = new Set<string>()
  const toldUnfit = new Set<string>()
  let isClosing = false
  let syncing: Promise<void> = Promise.resolve()

  const actorOf = (name: string): SlotActor => {
    const found = open.get(name)
    if (found !== undefined) return found.actor
    throw noSlotError(name, [...open.keys()].toSorted())
  }
  const ask = async <T>(name: string, send: (actor: SlotActor, answer: Deferred<T>) => void): Promise<T> => {
    const answer = deferred<T>()
    send(actorOf(name), answer)
    return answer.promise
  }

  async function add(names: readonly string[]): Promise<void> {
    const configuredPorts: [string, number][] = []
    for (const name of names) {
      const slot = await openSlot(name, slotDeps)
      // Its file was taken away since it was listed, or nothing is to be opened any more.
      if (slot === undefined || isClosing || leaving.has(name)) continue
      open.set(name, slot)
      hot.changed()
      if (slot.configuredPort !== undefined) configuredPorts.push([name, slot.configuredPort])
    }
    // After all that was merely recorded: what a file says weighs more.
    for (const [name, port] of configuredPorts) deps.ports.prefer(name, port)
  }

  async function leave(name: string, closed: Promise<void>, finish: () => Promise<void>): Promise<void> {
    await closed
    await open.get(name)?.writer.flush()
    try {
      await finish()
    } finally {
      open.delete(name)
      hot.changed()
    }
  }
  async function settle(
    name: string,
    why: ClosingReason,
    closed: Promise<void>,
    finish = async () => {},
  ): Promise<void> {
    const earlier = leaving.get(name)
    if (earlier !== undefined) {
      await closed
      if (earlier.why !== why) throw closingError(name, earlier.why)
      return await earlier.left
    }
    const left = leave(name, closed, finish).finally(() => leaving.delete(name))
    leaving.set(name, { why, left })
    return await left
  }

  async function syncNow(): Promise<void> {
    if (isClosing) return
    const { names, unfit } = await source.list()
    for (const file of unfit) {
      if (!toldUnfit.has(file)) tellUnfit(file, deps)
      toldUnfit.add(file)
    }
    const gone = [...open.keys()].filter((name) => !names.includes(name) && !leaving.has(name))
    for (const name of gone) {
      const closed = ask<void>(name, (actor, answer) => actor.post({ type: 'close_if_down', why: 'deleted', answer }))
      // What runs goes on.
      await settle(name, 'deleted', closed).catch(() => void orphans.add(name))
    }
    await add(names.filter((name) => !open.has(name) && !leaving.has(name)))
  }

  /** A few at a time: requests are served meanwhile. */
  const lookAtAll = async () => {
    const queue = [...open.keys()]
    const worker = async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        await look(name).catch(() => undefined)
        await nextTurn()
      }
    }
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, worker))
  }
  const syncFiles = (): Promise<void> => {
    const next = syncing.then(syncNow)
    syncing = next.catch((cause: unknown) =>
      deps.log.error({ reason: messageOf(cause) }, 'the slots could not be synced'),
    )
    return next
  }
  const sync = async (): Promise<void> => {
    await syncFiles()
    await lookAtAll()
  }
  const look = (name: string) => ask<SlotRow>(name, (actor, answer) => actor.post({ type: 'files_changed', answer }))
  const load = (name: string, by: StartedBy = 'person') =>
    ask<SlotRow>(name, (actor, answer) => actor.post({ type: 'load', by, answer }))

  await syncNow()

  return {
    residents,
    rows: () => [...open.values()].map(({ actor }) => actor.row()).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    row: (name) => open.get(name)?.actor.row(),
    views: hot.views,
    phases: hot.phases,
    leaseNow: hot.leaseNow,
    lookNow: hot.lookNow,
    acquire: hot.acquire,
    restartNeeded: (name) => open.get(name)?.actor.parts.files.restartNeeded ?? [],
    load,
    unload: (name, request) => ask(name, (actor, answer) => actor.post({ type: 'unload', ...request, answer })),
    restart: (name, request) => ask(name, (actor, answer) => actor.post({ type: 'restart', ...request, answer })),
    swap: (name, override, request) =>
      ask(name, (actor, answer) => actor.post({ type: 'swap', override, ...request, answer })),
    standing: (name) => standingOf(open.get(name)?.actor),
    onDown: (listener) => {
      downListeners.add(listener)
      return () => void downListeners.delete(listener)
    },
    running: (name) => open.get(name)?.actor.parts.life.engine?.binding.bound,
    bound: (name) => open.get(name)?.actor.parts.files.bound,
    override: (name) => open.get(name)?.actor.override,
    logPath: (name) => {
      actorOf(name)
      return deps.effects.logPath(name)
    },
    onEngineGone: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    sync,
    syncFiles,
    look,
    retire: (name, why, { drainMs }, finish) =>
      settle(
        name,
        why,
        ask(name, (actor, answer) => actor.post({ type: 'close', why, drainMs, keepEngine: false, answer })),
        finish,
      ),
    retireIfDown: (name, why, finish) =>
      settle(
        name,
        why,
        ask(name, (actor, answer) => actor.post({ type: 'close_if_down', why, answer })),
        finish,
      ),
    leavingFor: (name) => leaving.get(name)?.why,
    forget: async (name) => {
      deps.ports.forget(name)
      await rm(dirname(slotStatePath(deps.home, name)), { recursive: true, force: true })
    },
    autoload: async () => {
      // Beside the loads: both ask the same engines what they know, once.
      const looked = lookAtAll().catch(() => undefined)
      const wanted = [...open.values()].map(({ actor }) => actor.row()).filter((row) => row.autoload && !isShadow(row))
      const queue = wanted.toSorted((a, b) => b.priority - a.priority).map((row) => row.name)
      const worker = async () => {
        for (let name = queue.shift(); name !== undefined; name = queue.shift())
          await load(name, 'daemon').catch(() => undefined)
      }
      await Promise.all(Array.from({ length: AUTOLOAD_AT_ONCE }, worker))
      await looked
    },
    close: async ({ drainMs, keepEngines }) => {
      isClosing = true
      await Promise.all(
        [...open.values()].map(({ actor }) => {
          const answer = deferred<void>()
          actor.post({ type: 'close', why: 'daemon_stops', drainMs, keepEngine: keepEngines, answer })
          return answer.promise
        }),
      )
      await Promise.all([...open.values()].map(({ writer }) => writer.flush()))
    },
  }
}

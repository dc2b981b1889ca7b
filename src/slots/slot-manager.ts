import { listSlotFiles, readSlotFile, type SlotConfig, slotsFolder } from '../config/slot-file.ts'
import { NAME_RULE } from '../contract/names.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { isoTime } from '../kernel/units.ts'
import { SlotActor } from './actor.ts'
import { type Deferred, deferred } from './deferred.ts'
import type { ActorDeps } from './life-ports.ts'
import type { PortPool } from './port-pool.ts'
import { failureOf, noSlotError } from './slot-failures.ts'
import type { Lease, Slots } from './slots.ts'
import { StateBoard } from './state-board.ts'
import { createRecordWriter, type RecordWriter, readStateRecord } from './state-record.ts'

export interface SlotManagerDeps extends Omit<ActorDeps, 'onEngineGone'> {
  readonly home: Home
  readonly ports: Pick<PortPool, 'prefer'>
}

/** The slots and what the daemon does to all of them. */
export interface SlotManager extends Slots {
  /** Loads what wants to be loaded at start, a few at a time; resolves when all have a verdict. Failures stay in their slots. */
  autoload(): Promise<void>
  /** No more leases or loads; streams may end within `drainMs`; then engines stop, or stay if `keepEngines`. */
  close(options: { readonly drainMs: number; readonly keepEngines: boolean }): Promise<void>
}

/** Slots that load at once while the daemon starts. Source: SPEC 10 "autoload". */
const AUTOLOAD_AT_ONCE = 2

/**
 * One actor per slot file. A file that cannot be used gives a slot that says so; one whose name can be no slot's is told to log and bus.
 * Errors: `config.invalid` when the folder of the slot files cannot be read.
 */
export async function openSlots(deps: SlotManagerDeps): Promise<SlotManager> {
  const listeners = new Set<(attemptId: string) => void>()
  const onEngineGone = (attemptId: string) => {
    for (const listener of listeners) listener(attemptId)
  }
  const actors = new Map<string, SlotActor>()
  const writers: RecordWriter[] = []
  const { names, unfit } = await listSlotFiles(deps.home)
  for (const file of unfit) tellUnfit(file, deps)
  const configuredPorts: [string, number][] = []
  for (const name of names) {
    const writer = createRecordWriter(deps.home, name, deps)
    writers.push(writer)
    const { actor, recordedPort, configuredPort } = await openSlot(name, writer, { ...deps, onEngineGone })
    actors.set(name, actor)
    if (recordedPort !== undefined) deps.ports.prefer(name, recordedPort)
    if (configuredPort !== undefined) configuredPorts.push([name, configuredPort])
  }
  // After all that was merely recorded: what a file says weighs more.
  for (const [name, port] of configuredPorts) deps.ports.prefer(name, port)

  const actorOf = (name: string): SlotActor => {
    const actor = actors.get(name)
    if (actor !== undefined) return actor
    throw noSlotError(name, [...actors.keys()])
  }
  const ask = async (name: string, send: (actor: SlotActor, answer: Deferred<SlotRow>) => void): Promise<SlotRow> => {
    const answer = deferred<SlotRow>()
    send(actorOf(name), answer)
    return answer.promise
  }
  const load = (name: string) => ask(name, (actor, answer) => actor.post({ type: 'load', answer }))

  return {
    rows: () => [...actors.values()].map((actor) => actor.row()),
    row: (name) => actors.get(name)?.row(),
    acquire: async (name, options) => acquire(actorOf(name), options),
    load,
    unload: (name, request) => ask(name, (actor, answer) => actor.post({ type: 'unload', ...request, answer })),
    restart: (name, request) => ask(name, (actor, answer) => actor.post({ type: 'restart', ...request, answer })),
    logPath: (name) => {
      actorOf(name)
      return deps.effects.logPath(name)
    },
    onEngineGone: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    autoload: async () => {
      const wanted = [...actors.values()].map((actor) => actor.row()).filter((row) => row.autoload)
      const queue = wanted.map((row) => row.name)
      const worker = async () => {
        for (let name = queue.shift(); name !== undefined; name = queue.shift()) await load(name).catch(() => undefined)
      }
      await Promise.all(Array.from({ length: AUTOLOAD_AT_ONCE }, worker))
    },
    close: async ({ drainMs, keepEngines }) => {
      await Promise.all(
        [...actors.values()].map((actor) => {
          const answer = deferred<void>()
          actor.post({ type: 'close', drainMs, keepEngine: keepEngines, answer })
          return answer.promise
        }),
      )
      await Promise.all(writers.map((writer) => writer.flush()))
    },
  }
}

function acquire(actor: SlotActor, { signal, waitMs }: { signal: AbortSignal; waitMs: number }): Promise<Lease> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const leave = () => actor.post({ type: 'withdraw', waiter, reason: signal.reason })
    const settle =
      <T>(end: (value: T) => void) =>
      (value: T) => {
        signal.removeEventListener('abort', leave)
        end(value)
      }
    const waiter = { resolve: settle(resolve), reject: settle(reject), waitMs }
    signal.addEventListener('abort', leave, { once: true })
    actor.post({ type: 'acquire', waiter })
  })
}

/** A person put it there to be a slot and would wait for it in vain. */
function tellUnfit(file: string, { home, log, bus }: SlotManagerDeps): void {
  const message = `${slotsFolder(home)}/${file} is not a slot: the name of its file cannot be a slot's; expected ${NAME_RULE}, then .toml`
  log.warn({ file }, message)
  bus.publish({ type: 'config.unfit_name', severity: 'warning', source: 'config', message, data: { file } })
}

/** Engines of an earlier daemon are gone by now, so whatever the record says was live is offline. Source: SPEC 4 "Adoption". */
async function openSlot(
  name: string,
  writer: RecordWriter,
  deps: ActorDeps & { readonly home: Home },
): Promise<{
  readonly actor: SlotActor
  readonly recordedPort: number | undefined
  readonly configuredPort: number | undefined
}> {
  const { home, log, clock } = deps
  const before = await readStateRecord(home, name, log)
  let config: SlotConfig | undefined
  let problem: Hal0Error | undefined
  try {
    config = await readSlotFile(home, name)
  } catch (cause) {
    problem = toHal0Error(cause)
    log.error({ slot: name, code: problem.code }, problem.message)
  }
  // A file that cannot be used is a failure before any load; else what the last daemon saw still holds.
  const recorded = before?.state === 'error' ? before.extra.failure : undefined
  const failure = problem === undefined ? recorded : failureOf(problem, clock.nowMs())
  const board = new StateBoard(
    {
      name,
      state: failure === undefined ? 'offline' : 'error',
      model_id: config?.model.default || null,
      port: before?.port ?? config?.port ?? null,
      updated_at: isoTime(clock.nowMs()),
      message: failure?.message ?? '',
      extra: failure === undefined ? {} : { failure },
    },
    { clock, bus: deps.bus, writer },
  )
  board.refresh({})
  return {
    actor: new SlotActor(name, config, board, deps),
    recordedPort: before?.port ?? undefined,
    configuredPort: config?.port,
  }
}

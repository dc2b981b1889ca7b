import { retiredKeysOf } from '../config/slots/rules/retired-keys.ts'
import { slotFilePath } from '../config/slots/slot-file.ts'
import { announce } from '../events/announce.ts'
import type { Home } from '../files/home.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { isoTime } from '../kernel/units.ts'
import { SlotActor } from './actor/actor.ts'
import { StateBoard } from './actor/state-board.ts'
import type { Adoption } from './adoption/take-survivors.ts'
import { tellStranger } from './adoption/tell-stranger.ts'
import { bindingOf, type SlotBinding } from './launch/read-binding.ts'
import type { ActorDeps } from './life/life-ports.ts'
import type { PortPool } from './port-pool.ts'
import { laneSlotSettings } from './settings.ts'
import { failureOf } from './slot-failures.ts'
import type { SlotSource } from './slot-source.ts'
import { createRecordWriter, type RecordWriter, readStateRecord } from './state-record.ts'

export interface OpenSlotDeps extends ActorDeps {
  readonly home: Home
  readonly ports: Pick<PortPool, 'prefer' | 'forget' | 'checkFree'>
  readonly source: SlotSource
  /** Engines of an earlier daemon, by slot; each is taken over once. */
  readonly adoptions: Map<string, Adoption>
}

export interface OpenSlot {
  readonly actor: SlotActor
  readonly writer: RecordWriter
  /** What its file says; weighs more than any port that was merely recorded. */
  readonly configuredPort: number | undefined
}

/**
 * One actor on the slot's file and record. An engine of an earlier daemon goes on as the slot's; without one, whatever the record says was live is
 * offline; a file that cannot be used is a failure before any load. Undefined = there is no such slot. Source: SPEC 4 "Adoption".
 */
export async function openSlot(name: string, deps: OpenSlotDeps): Promise<OpenSlot | undefined> {
  const { home, log, clock, ports, source } = deps
  const writer = createRecordWriter(home, name, deps)
  const before = await readStateRecord(home, name, log)
  let bound: SlotBinding | undefined
  let problem: Hal0Error | undefined
  try {
    const config = await source.read(name)
    if (config === undefined) return undefined
    bound = bindingOf(config)
    for (const { message } of retiredKeysOf({ ...config })) tellRetired(name, message, deps)
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
      model_id: bound?.modelId || null,
      port: before?.port ?? bound?.config.port ?? null,
      updated_at: isoTime(clock.nowMs()),
      message: failure?.message ?? '',
      extra: { ...(failure && { failure }), ...(before?.extra.breakers && { breakers: before.extra.breakers }) },
    },
    { clock, bus: deps.bus, writer },
  )
  if (before?.port !== undefined && before.port !== null) ports.prefer(name, before.port)
  const settings = source.isLanes(name) ? laneSlotSettings(deps.settings) : deps.settings
  const actor = new SlotActor(name, bound, board, { ...deps, settings })
  const adoption = deps.adoptions.get(name)
  deps.adoptions.delete(name)
  if (adoption !== undefined) {
    // It writes the record, and nothing is written before: a daemon that dies in between must not leave one that knows nothing of the engine.
    actor.post({ type: 'adopt', ...adoption })
  } else {
    board.refresh({})
    if (before?.extra.process !== undefined && before.port !== null) void tellStranger(name, before.port, deps)
  }
  return { actor, writer, configuredPort: bound?.config.port }
}

/** Once per slot and daemon. Source: SPEC 3 `slot.lru_flag_retired`. */
function tellRetired(name: string, reason: string, deps: OpenSlotDeps): void {
  announce(deps, {
    type: 'slot.lru_flag_retired',
    severity: 'warning',
    source: `slot:${name}`,
    message: `slot ${name}: ${reason}; take it out of ${slotFilePath(deps.home, name)}`,
    data: { slot: name },
  })
}

import { basename } from 'node:path'
import { createArbiter } from './arbiter/arbiter.ts'
import type { Arbiter } from './arbiter/ports.ts'
import type { ModeTiming } from './arbiter/rules/timing.ts'
import type { LiveSettings } from './config/settings/live-settings.ts'
import { findNpuClash } from './config/slots/rules/npu-clash.ts'
import type { LaneRow } from './contract/lane.ts'
import type { SlotRow } from './contract/slot-row.ts'
import type { EventBus } from './events/bus.ts'
import type { Home } from './files/home.ts'
import type { ImageDefaults } from './gateway/routes/paint.ts'
import type { SpeechDefaults } from './gateway/rules/speech-defaults.ts'
import { createHardwareSources, type HardwareSources } from './hardware/hardware-sources.ts'
import { createMemoryMeter, type MemoryMeter } from './hardware/memory-meter.ts'
import { thisMachine } from './hardware/this-machine.ts'
import type { Clock } from './kernel/clock.ts'
import { Hal0Error } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import type { Pulls } from './models/pull/pulls.ts'
import { createComfyClient } from './runners/comfy/comfy-client.ts'
import type { RunnerRegistry } from './runners/registry.ts'
import type { Runtime } from './runtimes/runtime.ts'
import type { OpenMemoryDesk } from './slots/admission/desk-ports.ts'
import { deskSettingsOf } from './slots/admission/desk-settings.ts'
import { createMemoryDesk } from './slots/admission/memory-desk.ts'
import { watchPressure } from './slots/admission/watch-pressure.ts'
import { takeSurvivors } from './slots/adoption/take-survivors.ts'
import { createSlotEffects } from './slots/effects.ts'
import type { LaneBindings } from './slots/lane-bindings.ts'
import { createKeptWrites } from './slots/launch/kept-writes.ts'
import { createMissingFiles } from './slots/launch/pull-missing.ts'
import type { LoadListener } from './slots/life/life-ports.ts'
import type { PortPool } from './slots/port-pool.ts'
import type { SlotSettings } from './slots/settings.ts'
import { withShadows } from './slots/shadow-slots.ts'
import { openSlots, type SlotManager } from './slots/slot-manager.ts'
import { createSlotSource, type SlotSource } from './slots/slot-source.ts'
import type { Store } from './store/open-store.ts'

/** The slots with all that looks after them: memory, GPU turns, history, metrics. */
export interface Fleet {
  readonly slots: SlotManager
  readonly arbiter: Arbiter
  readonly desk: Pick<OpenMemoryDesk, 'capacity'>
  readonly metrics: Metrics
  readonly store: Store
  readonly hardware: HardwareSources
  readonly meter: MemoryMeter
  /** Where the slots come from: files and lanes. */
  readonly source: SlotSource
  /** Calls back for every load that has ended. */
  onLoad(listener: LoadListener): void
  readonly imageDefaults: (slot: string) => ImageDefaults
  readonly speechDefaults: (slot: string) => SpeechDefaults
  /** The settings may say something else by now. */
  look(): void
  /** Before the slots are closed: nothing is switched, evicted or loaded again from now on. */
  rest(): Promise<void>
  /** After the slots are closed. */
  close(): Promise<void>
}

export interface FleetDeps {
  readonly home: Home
  readonly store: Store
  readonly live: LiveSettings
  /** The lanes, each of which has a slot. */
  readonly lanes: LaneBindings
  /** What the lanes do, for the metrics; none before they are open. */
  readonly laneRows: () => readonly LaneRow[]
  /** Is anybody defined? Then no lane runs an engine that others of this machine could talk to. */
  readonly hasUsers: () => boolean
  readonly runners: RunnerRegistry
  readonly runtime: Runtime
  readonly ports: PortPool
  readonly bus: EventBus
  readonly clock: Clock
  readonly log: Log
  readonly settings: SlotSettings
  /** Asked when a load needs it: pulls are made after the slots. */
  readonly pulls: () => Pulls
  /** Absent = this machine's own. */
  readonly meter?: MemoryMeter | undefined
  /** Absent = as SPEC 8 says. */
  readonly arbiterTiming?: ModeTiming | undefined
}

/** Builds it and takes over the engines of an earlier daemon. Errors: `config.invalid`. */
export async function openFleet(deps: FleetDeps): Promise<Fleet> {
  const { home, live, lanes, runners, runtime, ports, bus, clock, log, store } = deps
  const hardware = createHardwareSources(thisMachine(), clock)
  const meter = deps.meter ?? createMemoryMeter(hardware)
  const source = createSlotSource({ home, lanes, cards: () => meter.read() })
  const loadListeners = new Set<LoadListener>()
  /** None before the slots are open. */
  let rows: () => readonly SlotRow[] = () => []
  const metrics = createMetrics({ rows: () => rows(), lanes: deps.laneRows, loads: store.loads })
  const subscription = bus.subscribe({ onEvent: (event) => metrics.onEvent(event) })
  const kept = createKeptWrites({ clock, log, bus })
  const adoptions = new Map(await takeSurvivors({ home, source, runtime, runners, ports, clock, bus, log }))
  /** Both come into being with the slots, which they know. */
  let opened: { readonly desk: OpenMemoryDesk; readonly pressure: { close(): void } } | undefined
  /** Made when the slots know what of them runs; until then it refuses nothing. */
  let door: Pick<Arbiter, 'refusal' | 'isSaved'> = { refusal: () => undefined, isSaved: () => false }

  const manager = await openSlots({
    home,
    source,
    ports,
    clock,
    runtime,
    bus,
    log,
    adoptions,
    settings: deps.settings,
    effects: createSlotEffects({
      ...{ home, source, runners, ports, clock, kept },
      missing: createMissingFiles(home, deps.pulls),
    }),
    openDesk: (residents) => {
      const deskDeps = { meter, residents, clock, log, bus, settings: () => deskSettingsOf(live.settings()) }
      const desk = createMemoryDesk(deskDeps)
      opened = { desk, pressure: watchPressure({ ...deskDeps, desk }) }
      return desk
    },
    onLoadEnded: (record) => {
      store.loads.record(record)
      metrics.onLoad(record)
      for (const listener of loadListeners) listener(record)
    },
    startRefusal: (slot) => door.refusal(slot) ?? npuRefusal(rows(), slot) ?? keylessRefusal(deps, rows(), slot),
    managedBy: (slot) => (door.isSaved(slot) ? 'arbiter' : null),
  })
  if (opened === undefined) throw new Error('the slots were opened without a memory desk')
  const { desk, pressure } = opened
  const slots = withShadows(manager)
  rows = () => slots.rows()
  const arbiter = await createArbiter({
    home,
    slots: {
      rows: () => slots.rows(),
      load: (slot) => slots.load(slot, 'daemon'),
      claim: (slot) => slots.residents.claim(slot, 'arbiter', { untilReady: true }),
      stop: async (slot) => void (await slots.unload(slot, { drainMs: 0, force: true })),
    },
    comfyOf: (row) => createComfyClient({ origin: `http://127.0.0.1:${row.port ?? 0}`, clock, slot: row.name }),
    clock,
    log,
    bus,
    settings: () => ({ arbiter: live.settings().slots.arbiter }),
    timing: deps.arbiterTiming,
  })

  door = arbiter

  const fleet: Fleet = {
    slots,
    arbiter,
    desk,
    metrics,
    store,
    hardware,
    meter,
    source,
    onLoad: (listener) => void loadListeners.add(listener),
    imageDefaults: (slot) => {
      const bound = slots.running(slot) ?? slots.bound(slot)
      const file = bound === undefined ? undefined : live.modelFile(bound.modelId)
      return {
        size: bound?.config.image?.default_size,
        steps: bound?.config.image?.default_steps,
        // ComfyUI has names of its own for its models, which no registry has to know.
        checkpoint: file === undefined ? bound?.modelId || undefined : basename(file),
      }
    },
    speechDefaults: (slot) => {
      const config = slots.bound(slot)?.config
      const { default_voice: voice, default_speed: speed, default_response_format } = config ?? {}
      return { voice, speed, response_format: default_response_format }
    },
    look: () => {
      desk.look()
      arbiter.look()
    },
    rest: async () => {
      pressure.close()
      await arbiter.close()
    },
    close: async () => {
      kept.close()
      desk.close()
      subscription.close()
    },
  }
  return fleet
}

/** One language model at a time on the NPU, also where it was swapped in without being written. Source: SPEC 8 "NPU". */
function npuRefusal(rows: readonly SlotRow[], slot: string): Hal0Error | undefined {
  const clash = findNpuClash(rows, slot)
  if (clash === undefined) return undefined
  return Hal0Error.of('slot.npu_exclusivity_violation', clash.message, { details: { slot, holder: clash.holder } })
}

/** An engine without a key would answer everybody on this machine, whoever has booked the lane. Source: SPEC 5 "Engine key". */
function keylessRefusal(
  { runners, hasUsers }: FleetDeps,
  rows: readonly SlotRow[],
  slot: string,
): Hal0Error | undefined {
  const row = rows.find(({ name }) => name === slot)
  if (row?.managed_by !== 'lane' || !hasUsers()) return undefined
  const runner = runners.find(row.runner)
  if (runner === undefined || runner.keyEnv !== undefined) return undefined
  const message = `lane ${slot}: runner ${runner.key} takes no engine key, so other programs of this machine could use it around hal0`
  const remedy = `Give the lane a runner that takes one: \`hal0 lane edit ${slot} --runner KEY\`; \`hal0 runner list\` shows them.`
  return Hal0Error.of('slot.config_error', message, { param: 'runner', details: { lane: slot, remedy } })
}

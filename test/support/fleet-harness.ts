import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { onTestFinished } from 'vitest'
import { daemonSettingsSchema } from '../../src/config/settings/daemon-settings.ts'
import { slotFileSchema } from '../../src/config/slots/rules/slot-schema.ts'
import { type SlotConfig, slotFilePath, slotsFolder } from '../../src/config/slots/slot-file.ts'
import type { Hal0Event, NewEvent } from '../../src/contract/events.ts'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { LoadRecord } from '../../src/contract/load-record.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import { homeAt } from '../../src/files/home.ts'
import { Hal0Error, toHal0Error } from '../../src/kernel/errors.ts'
import { type Log, silentLog } from '../../src/kernel/log.ts'
import { GIB, isoTime } from '../../src/kernel/units.ts'
import type { MemoryNeed } from '../../src/launch/rules/memory-need.ts'
import type { Runtime } from '../../src/runtimes/runtime.ts'
import type { MemoryPool } from '../../src/slots/admission/admission.ts'
import type { OpenMemoryDesk } from '../../src/slots/admission/desk-ports.ts'
import type { DeskSettings } from '../../src/slots/admission/desk-settings.ts'
import { createMemoryDesk } from '../../src/slots/admission/memory-desk.ts'
import { watchPressure } from '../../src/slots/admission/watch-pressure.ts'
import type { Adoption } from '../../src/slots/adoption/take-survivors.ts'
import type { SlotEffects } from '../../src/slots/effects.ts'
import type { LaneBindings } from '../../src/slots/lane-bindings.ts'
import { bindingOf, type Override } from '../../src/slots/launch/read-binding.ts'
import { slotSettingsOf } from '../../src/slots/settings.ts'
import { openSlots } from '../../src/slots/slot-manager.ts'
import { createSlotSource } from '../../src/slots/slot-source.ts'
import { FAKE_LAUNCH, FAKE_RUNNER, UNDECIDED_THINKING } from './fake-runner.ts'
import { FakeRuntime } from './fake-runtime.ts'
import { FleetMachine } from './fleet-machine.ts'
import { ManualClock, settle } from './manual-clock.ts'
import { needOf } from './memory-world.ts'

/** One slot of the fleet; sizes in GiB. What is not said is as a slot file has it, on one CUDA card. */
export interface FleetSlot {
  /** What each model of it takes, by id; `gpuGib` is short for the one model `m`. */
  readonly gpuGib?: number
  readonly models?: Readonly<Record<string, MemoryNeed>>
  /** Keys of its file. */
  readonly file?: Readonly<Record<string, unknown>>
  /** Requests at once; null = as many as come. */
  readonly parallel?: number | null
  readonly loadMs?: number
  readonly stopMs?: number
  /** From the death of its engine until its memory is free. */
  readonly lagMs?: number
}

/** How a request ended. `waitedMs`: until it had its lease, or its refusal. */
export interface FleetAnswer {
  /** `served`, or the code of the refusal. */
  readonly how: string
  readonly waitedMs: number
  readonly error: Hal0Error | undefined
}

export interface FleetOptions {
  readonly slots: Readonly<Record<string, FleetSlot>>
  readonly pools: readonly MemoryPool[]
  readonly desk?: Partial<DeskSettings>
  /** Tables of hal0.toml. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Slots without a file, driven by lanes; what they are like is in `laneTraits`. */
  readonly lanes?: LaneBindings
  readonly laneTraits?: Readonly<Record<string, FleetSlot>>
  /** A model that cannot be loaded: no start of it is prepared. */
  readonly brokenModel?: string
  /** Engines that an earlier daemon left, by slot. */
  readonly adopts?: Readonly<Record<string, { readonly modelId: string; readonly profile: string }>>
  /** Main memory is watched, too. */
  readonly isPressureWatched?: boolean
}

export type FleetHarness = Awaited<ReturnType<typeof openFleetHarness>>

/**
 * Real slot actors, the real manager and the real memory desk on engines that are made up, a machine whose memory is only counted, and a clock
 * that the test moves. Closed when the test ends; then no engine, claim or timer may be left.
 */
export async function openFleetHarness(options: FleetOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-fleet-'))
  const home = homeAt(folder)
  await mkdir(slotsFolder(home), { recursive: true })
  const clock = new ManualClock()
  const runtime = new FakeRuntime(clock)
  const events: NewEvent[] = []
  const loads: LoadRecord[] = []
  const faults: unknown[] = []
  const configs = new Map<string, SlotConfig>()
  for (const [name, { file = {}, models }] of Object.entries(options.slots)) {
    const words = { name, device: 'gpu-cuda', model: { default: Object.keys(models ?? { m: 0 })[0] ?? '' }, ...file }
    configs.set(name, slotFileSchema.parse(words))
    await writeFile(slotFilePath(home, name), stringify(words))
  }
  const traitsOf = (slot: string): FleetSlot => options.slots[slot] ?? options.laneTraits?.[slot] ?? {}
  const configOf = (slot: string) => options.lanes?.configOf(slot)?.config ?? configs.get(slot)
  const portsOf = new Map<string, number>()
  const portOf = (slot: string): number => {
    const port = portsOf.get(slot) ?? 20_000 + portsOf.size
    portsOf.set(slot, port)
    return port
  }
  const needsOf = (slot: string) => traitsOf(slot).models ?? { m: needOf(traitsOf(slot).gpuGib ?? 0) }
  const log: Log = {
    ...silentLog,
    error: (facts, message) => void (message.includes('fault') || message.includes('failed') ? faults.push(facts) : 0),
  }

  const machine = new FleetMachine(options.pools, clock, (slot) => {
    const { loadMs = 1000, lagMs = 0 } = traitsOf(slot)
    const config = configOf(slot)
    return { device: config?.device ?? 'gpu-cuda', gpuIndex: config?.gpu_index, loadMs, lagMs }
  })
  runtime.beforeStart = (plan, knobs) => {
    knobs.termDelayMs = traitsOf(plan.slot).stopMs ?? 200
    machine.started(plan)
  }
  const countingRuntime: Runtime = {
    kind: 'process',
    findSurvivors: () => runtime.findSurvivors(),
    start: async (plan, how) => {
      const engine = await runtime.start(plan, how)
      void engine.exited.then(() => machine.ended(plan))
      return engine
    },
  }
  const meter = { read: async () => machine.measure() }

  const boundTo = (slot: string, override: Override | undefined) => {
    const config = configOf(slot)
    if (config === undefined) throw Hal0Error.of('slot.not_found', `no slot ${slot}`)
    const pinned = config.gpu_index === undefined ? undefined : [config.gpu_index]
    const gpus = options.lanes?.configOf(slot)?.gpus ?? pinned
    return { ...bindingOf(config), modelId: override?.modelId ?? config.model.default, gpus }
  }
  const startOn = (origin: string) => runtime.starts.findLast(({ plan }) => plan.port === Number(new URL(origin).port))
  const effects: SlotEffects = {
    readBinding: async (slot, override) => boundTo(slot, override),
    examine: async (slot, override, running) => {
      if (configOf(slot) === undefined) return goneExamination(slot)
      const bound = boundTo(slot, override)
      const runs = running?.binding.bound
      const differs = runs !== undefined && (runs.modelId !== bound.modelId || runs.profile !== bound.profile)
      return {
        bound,
        problem: bound.modelId === options.brokenModel ? brokenError(bound.modelId) : undefined,
        fingerprint: bound.modelId,
        thinking: UNDECIDED_THINKING,
        restartNeeded: differs ? ['model'] : [],
        drift: [],
      }
    },
    prepare: async (bound) => {
      const { name } = bound.config
      if (bound.modelId === options.brokenModel) throw brokenError(bound.modelId)
      const port = portOf(name)
      const plan: LaunchPlan = { slot: name, command: ['/fake'], flags: [], env: {}, port }
      const need = needsOf(name)[bound.modelId] ?? { kind: 'unknown', reason: `no model ${bound.modelId}` }
      machine.prepare(plan, need)
      const launch = { plan, ...FAKE_LAUNCH }
      return { bound, runner: FAKE_RUNNER, launch, plan, fingerprint: bound.modelId, releasePort: () => {} }
    },
    drawKey: async () => 'k',
    missing: { find: async () => undefined },
    estimate: async ({ plan }) => machine.needOf(plan),
    recordLaunch: async () => {},
    askSanity: async () => ({ kind: 'passed' }),
    openLiveLook: () => ({ look: async () => 'alive', close: async () => {} }),
    openProber: (origin) => ({
      look: async () => {
        const start = startOn(origin)
        if (start === undefined || !start.engine.isAlive || !machine.isUp(start.plan)) return { kind: 'silent' }
        return { kind: 'ready', parallel: traitsOf(start.plan.slot).parallel ?? null }
      },
      close: async () => {},
    }),
    logPath: () => '/log',
    explain: async (_engine, facts) => ({
      code: 'slot.spawn_failed',
      message: `the engine exited (${facts.kind})`,
      cause: null,
      line: null,
      remedy: 'do this',
      at: isoTime(facts.atMs),
    }),
  }

  const adoptions = new Map<string, Adoption>()
  for (const [slot, { modelId, profile }] of Object.entries(options.adopts ?? {})) {
    const bound = { ...boundTo(slot, { modelId }), profile }
    const binding = await effects.prepare(bound, null, new AbortController().signal)
    const attemptId = `adopted ${slot}`
    const how = { attemptId, secretEnv: {}, logPath: '/log' }
    const process = await countingRuntime.start(binding.plan, how)
    const need = machine.needOf(binding.plan)
    adoptions.set(slot, {
      engine: { attemptId, binding, process, engineKey: 'k', logPath: '/log', need },
      known: 'passed',
    })
  }

  const deskSettings: { -readonly [Key in keyof DeskSettings]: DeskSettings[Key] } = {
    loadWaitMs: 60_000,
    groups: {},
    evictPressureBytes: 8 * GIB,
    evictPressurePct: 10,
    releaseWaitMs: 10_000,
    ...options.desk,
  }
  const listeners = new Set<(event: Hal0Event) => void>()
  const bus = {
    publish: (event: NewEvent) => {
      events.push(event)
      for (const listener of listeners) listener({ ...event, id: events.length, ts: isoTime(clock.nowMs()) })
    },
    subscribe: ({ onEvent }: { readonly onEvent: (event: Hal0Event) => void }) => {
      listeners.add(onEvent)
      return { close: () => void listeners.delete(onEvent) }
    },
  }
  let opened: OpenMemoryDesk | undefined
  let pressure: { close(): void } | undefined
  const slots = await openSlots({
    home,
    clock,
    runtime: countingRuntime,
    bus,
    log,
    effects,
    ports: { prefer: () => {}, forget: () => {}, checkFree: async () => {} },
    source: createSlotSource({ home, lanes: options.lanes }),
    adoptions,
    settings: {
      ...slotSettingsOf(daemonSettingsSchema.parse(options.settings ?? {}), {}),
      isSanityOffEverywhere: true,
    },
    openDesk: (residents) => {
      const deps = { meter, residents, clock, log, bus, settings: () => deskSettings }
      opened = createMemoryDesk(deps)
      if (options.isPressureWatched === true) pressure = watchPressure({ ...deps, desk: opened })
      return opened
    },
    onLoadEnded: (record) => void loads.push(record),
    startRefusal: () => undefined,
    managedBy: () => null,
  })
  if (opened === undefined) throw new Error('no desk was opened')
  const desk = opened

  const engineOf = (attemptId: string) => runtime.starts.find((start) => start.options.attemptId === attemptId)?.engine
  const row = (slot: string): SlotRow => {
    const found = slots.row(slot)
    if (found === undefined) throw new Error(`no slot ${slot}`)
    return found
  }
  const advance = async (ms: number): Promise<void> => {
    for (let i = 0; i < 5; i++) await settle()
    await clock.advance(ms)
    for (let i = 0; i < 5; i++) await settle()
    if (faults.length > 0) throw new Error(`faults: ${JSON.stringify(faults)}`)
  }
  /** Moves the clock until `promise` has settled. */
  const until = async <T>(promise: Promise<T>, stepMs = 50, withinMs = 3_600_000): Promise<T> => {
    let isDone = false
    void promise
      .catch(() => undefined)
      .then(() => {
        isDone = true
      })
    for (let ms = 0; ms < withinMs && !isDone; ms += stepMs) await advance(stepMs)
    if (!isDone) throw new Error(`not settled after ${withinMs} ms`)
    return await promise
  }

  /** One request: waits for its lease, holds it for `serveMs`, lets go. Never rejects. */
  async function ask(
    slot: string,
    serveMs: number,
    wish: { readonly waitMs?: number; readonly signal?: AbortSignal; readonly modelId?: string } = {},
  ): Promise<FleetAnswer> {
    const cameMs = clock.monotonicMs()
    const { waitMs = 60_000, signal = new AbortController().signal, modelId } = wish
    const waited = () => clock.monotonicMs() - cameMs
    try {
      const lease = await slots.acquire(slot, { signal, waitMs, ...(modelId === undefined ? {} : { modelId }) })
      const waitedMs = waited()
      const isCut = await new Promise<boolean>((resolve) => {
        const cancel = clock.setTimer(serveMs, () => resolve(false))
        const end = () => {
          cancel()
          resolve(true)
        }
        lease.revoked.addEventListener('abort', end, { once: true })
        // The client leaves in the middle of the answer.
        signal.addEventListener('abort', end, { once: true })
      })
      if (!isCut && engineOf(lease.attemptId)?.isAlive !== true) throw new Error(`${slot} died under a lease`)
      lease.release(isCut ? undefined : 'answered')
      if (!isCut) return { how: 'served', waitedMs, error: undefined }
      if (signal.aborted) return { how: 'left', waitedMs, error: undefined }
      const error = toHal0Error(lease.revoked.reason)
      return { how: error.code, waitedMs, error }
    } catch (cause) {
      if (signal.aborted) return { how: 'left', waitedMs: waited(), error: undefined }
      const error = toHal0Error(cause)
      return { how: error.code, waitedMs: waited(), error }
    }
  }

  let closing: Promise<void> | undefined
  /** As the daemon ends: slots first, then the desk; nothing may be left. Idempotent. */
  const close = (): Promise<void> => {
    closing ??= (async () => {
      pressure?.close()
      await until(slots.close({ drainMs: 0, keepEngines: false }))
      desk.close()
      await advance(60_000)
      const left = runtime.running.length
      if (left > 0 || clock.pendingTimers > 0) throw new Error(`left: ${left} engines, ${clock.pendingTimers} timers`)
    })()
    return closing
  }
  onTestFinished(async () => {
    try {
      await close()
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
    }
  })

  return {
    home,
    clock,
    runtime,
    bus,
    slots,
    desk,
    deskSettings,
    machine,
    /** Loads that have ended, in order. */
    loads,
    events,
    row,
    rows: () => slots.rows(),
    ask,
    advance,
    until,
    close,
    load: (slot: string) => slots.load(slot),
    /** Loads it and waits until it is up. */
    up: (slot: string) => until(slots.load(slot), 10),
    /** Slots whose engine was started, in order. */
    starts: () => runtime.starts.map(({ plan }) => plan.slot),
    /** Who was evicted, in order, with what the event says. */
    evicted: () => events.filter(({ type }) => type === 'slot.evicted').map(({ data }) => data),
    /** The engine that runs, or ran last, for this slot. */
    engine: (slot: string) => {
      const start = runtime.starts.findLast(({ plan }) => plan.slot === slot)
      if (start === undefined) throw new Error(`no engine of ${slot}`)
      return start.engine
    },
    running: () => runtime.starts.filter(({ engine }) => engine.isAlive).map(({ plan }) => plan.slot),
  }
}

function brokenError(modelId: string): Hal0Error {
  return Hal0Error.of('slot.model_missing', `no ${modelId}`)
}

/** Of a slot whose file, or lane, is gone. */
function goneExamination(slot: string): Awaited<ReturnType<SlotEffects['examine']>> {
  const problem = Hal0Error.of('slot.not_found', `no slot ${slot}`)
  return { bound: undefined, problem, fingerprint: undefined, thinking: undefined, restartNeeded: [], drift: [] }
}

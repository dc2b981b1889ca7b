import { slotFileSchema } from '../../src/config/slots/rules/slot-schema.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { isoTime } from '../../src/kernel/units.ts'
import type { EngineProcess, Runtime } from '../../src/runtimes/runtime.ts'
import { SlotActor } from '../../src/slots/actor/actor.ts'
import { StateBoard } from '../../src/slots/actor/state-board.ts'
import { bindingOf, type Override } from '../../src/slots/launch/read-binding.ts'
import { askSanity } from '../../src/slots/life/ask-sanity.ts'
import { explainExit } from '../../src/slots/life/explain-exit.ts'
import { createLiveLook } from '../../src/slots/life/look-alive.ts'
import { createProber } from '../../src/slots/life/probe.ts'
import { HeldDesk } from './actor-world.ts'
import { FAKE_LAUNCH, FAKE_RUNNER, UNDECIDED_THINKING } from './fake-runner.ts'
import { freePort } from './free-port.ts'
import { DEFAULT_SLOT_SETTINGS } from './slot-settings.ts'
import { FAKE_ENGINE } from './start-fake.ts'

/** Each model is an engine with its own manners; those of `useless` never serve anybody. */
export const REAL_MODELS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  quick: {},
  slow: { load_ms: 60, models_early: true, slow_stop_ms: 40 },
  stubborn: { load_ms: 20, ignore_sigterm: true },
  family: { grandchild: 'setsid', slow_stop_ms: 20 },
  dying: { load_ms: 60, exit_during_load: true, last_words: 'error: made up' },
  mad: { gibberish: 'repeated', sanity_answer: '!!!!!!!!!!!!' },
}
export const USELESS_MODELS: ReadonlySet<string> = new Set(['dying', 'mad'])

export interface RealActorOptions {
  readonly runtime: Runtime
  readonly logPath: string
  /** Just before something is spawned. */
  readonly onStart: () => void
  /** An engine is told to stop, by this attempt's id. */
  readonly onStop: (attemptId: string) => void
}

export interface RealStart {
  readonly attemptId: string
  readonly modelId: string
  readonly process: EngineProcess
}

/** A slot actor with real processes, sockets, logs and time; only its files and its memory are made up. */
export function openRealActor({ runtime, logPath, onStart, onStop }: RealActorOptions) {
  const events: NewEvent[] = []
  const faults: unknown[] = []
  const starts: RealStart[] = []
  const modelOfPlan = new Map<LaunchPlan, string>()
  const desk = new HeldDesk()
  const opened = { ports: 0 }
  const bus = { publish: (event: NewEvent) => void events.push(event) }
  const config = slotFileSchema.parse({ name: 's', model: { default: 'quick' } })
  const boundTo = (override: Override | undefined) => ({
    ...bindingOf(config),
    modelId: override?.modelId ?? config.model.default,
  })
  const board = new StateBoard(
    { name: 's', state: 'offline', model_id: 'quick', port: null, updated_at: isoTime(0), message: '', extra: {} },
    { clock: systemClock, bus, writer: { write: () => {}, flush: async () => {} } },
  )
  let build = 1
  const actor = new SlotActor('s', bindingOf(config), board, {
    clock: systemClock,
    runtime: {
      kind: runtime.kind,
      findSurvivors: (recorded) => runtime.findSurvivors(recorded),
      start: async (plan, options) => {
        onStart()
        const { attemptId } = options
        const process = await runtime.start(plan, options)
        starts.push({ attemptId, modelId: modelOfPlan.get(plan) ?? '', process })
        return {
          ref: process.ref,
          exited: process.exited,
          readArgv: () => process.readArgv(),
          stop: (how) => {
            onStop(attemptId)
            return process.stop(how)
          },
        }
      },
    },
    log: {
      ...silentLog,
      error: (facts, message) => {
        if (message === 'a fault in the slot actor') faults.push(facts)
      },
    },
    bus,
    settings: { ...DEFAULT_SLOT_SETTINGS, queueLimit: 20, stopGraceMs: 250 },
    effects: {
      readBinding: async (_slot, override) => boundTo(override),
      examine: async (_slot, override, running) => ({
        bound: boundTo(override),
        problem: undefined,
        fingerprint: `${boundTo(override).modelId}, build ${build}`,
        thinking: UNDECIDED_THINKING,
        restartNeeded:
          running !== undefined && running.binding.bound.modelId !== boundTo(override).modelId ? ['model'] : [],
        drift: [],
      }),
      prepare: async (bound) => {
        const port = await freePort()
        const plan = planOf(bound.modelId, port)
        modelOfPlan.set(plan, bound.modelId)
        opened.ports++
        const launch = { plan, ...FAKE_LAUNCH }
        return {
          bound,
          runner: { ...FAKE_RUNNER, keyEnv: 'LLAMA_API_KEY', routes: ['/v1/chat/completions', '/v1/completions'] },
          launch,
          plan,
          fingerprint: `${bound.modelId}, build ${build}`,
          releasePort: () => void opened.ports--,
        }
      },
      drawKey: async () => `key-${starts.length}`,
      missing: { find: async () => undefined },
      estimate: async () => ({ kind: 'unknown', reason: 'made up' }),
      recordLaunch: async () => {},
      askSanity: (ask) => askSanity(ask, { clock: systemClock }),
      openLiveLook: createLiveLook,
      openProber: createProber,
      logPath: () => logPath,
      explain: explainExit,
    },
    desk,
    onLoadEnded: () => {},
    startRefusal: () => undefined,
    managedBy: () => null,
    onEngineGone: () => {},
    onDown: () => {},
  })
  return {
    actor,
    desk,
    events,
    faults,
    opened,
    /** Every start that worked, in order. */
    starts,
    /** What a start launches from now on is another launch: what failed before does not count. */
    newBuild: () => {
      build++
    },
  }
}

function planOf(modelId: string, port: number): LaunchPlan {
  const flag = (name: string, value: string) => ({ flag: name, values: [value], layer: 'base' }) as const
  return {
    slot: 's',
    command: [process.execPath, FAKE_ENGINE],
    flags: [
      flag('--host', '127.0.0.1'),
      flag('--port', String(port)),
      flag('--model', '/nowhere/fake.gguf'),
      flag('--alias', 's'),
      flag('--parallel', '2'),
    ],
    env: { FAKE_KNOBS: JSON.stringify(REAL_MODELS[modelId] ?? {}) },
    port,
    keyEnv: 'LLAMA_API_KEY',
  }
}

import { slotFileSchema } from '../../src/config/slots/rules/slot-schema.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { LoadRecord } from '../../src/contract/load-record.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { SanityResult } from '../../src/contract/slot-state.ts'
import { Hal0Error, toHal0Error } from '../../src/kernel/errors.ts'
import type { Log } from '../../src/kernel/log.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { isoTime } from '../../src/kernel/units.ts'
import { SlotActor } from '../../src/slots/actor/actor.ts'
import { deferred } from '../../src/slots/actor/deferred.ts'
import type { StartedBy } from '../../src/slots/actor/start-gate.ts'
import { StateBoard } from '../../src/slots/actor/state-board.ts'
import type { MemoryDesk } from '../../src/slots/admission/admission.ts'
import type { Claim, EvictionOutcome, EvictionReason } from '../../src/slots/admission/residents.ts'
import type { Binding } from '../../src/slots/launch/prepare-launch.ts'
import type { MissingModel } from '../../src/slots/launch/pull-missing.ts'
import { bindingOf, type Override, type SlotBinding } from '../../src/slots/launch/read-binding.ts'
import type { ProbeVerdict } from '../../src/slots/life/probe.ts'
import type { SanityVerdict } from '../../src/slots/life/sanity.ts'
import type { Look } from '../../src/slots/rules/next-watch.ts'
import type { Lease } from '../../src/slots/slots.ts'
import { FAKE_LAUNCH, FAKE_RUNNER, UNDECIDED_THINKING } from './fake-runner.ts'
import { type FakeEngine, type FakeEngineKnobs, FakeRuntime, spawnFailed } from './fake-runtime.ts'
import { ManualClock, settle } from './manual-clock.ts'
import { DEFAULT_SLOT_SETTINGS } from './slot-settings.ts'

export interface HarnessOptions {
  readonly knobs?: Partial<FakeEngineKnobs>
  readonly parallel?: number
  readonly queueLimit?: number
  readonly stopGraceMs?: number
  /** Set by the user in the slot file. */
  readonly port?: number
  /** A model whose launch cannot be prepared. */
  readonly brokenModel?: string
  /** What the engine answers is looked at (`judge`). */
  readonly gated?: boolean
  readonly unloadAfterMs?: number
  readonly desk?: MemoryDesk
  /** Files are missing, and this brings them. */
  readonly pull?: MissingModel['fetch']
  /** Whose files are missing; default: every model's, when there is `pull`. */
  readonly isMissing?: (modelId: string) => boolean
  /** Told at once, while the actor handles a message. */
  readonly onEvent?: (event: NewEvent) => void
  readonly onLoadEnded?: (record: LoadRecord) => void
}

/** Memory without end. */
export const OPEN_DESK: MemoryDesk = {
  admit: async () => ({ phases: {}, note: '', settle: () => {} }),
  stopBegins: () => ({ ended: () => {} }),
}

export type ActorHarness = ReturnType<typeof openActor>

/** A slot actor in memory: the clock, the processes and what a look at them says are the test's. */
export function openActor(options: HarnessOptions) {
  const clock = new ManualClock()
  const runtime = new FakeRuntime(clock)
  Object.assign(runtime.defaults, options.knobs)
  const events: NewEvent[] = []
  const gone: string[] = []
  const portsReleased: string[] = []
  const downs: string[] = []
  const broken = new Set(options.brokenModel === undefined ? [] : [options.brokenModel])
  const unregistered = new Set<string>()
  const modelOfPlan = new Map<LaunchPlan, string>()
  const faults: unknown[] = []
  const log: Log = {
    ...silentLog,
    error: (facts, message) => {
      if (message === 'a fault in the slot actor') faults.push(facts)
    },
  }
  let filesHeld: Promise<void> = Promise.resolve()
  let letFiles: () => void = () => {}
  let files: 'same' | 'changed' | Error = 'same'
  let verdict: ProbeVerdict = { kind: 'silent' }
  let liveLook: Look = 'alive'
  let startRefusal: Hal0Error | undefined
  let build = 1
  const loads: LoadRecord[] = []
  let judgements: ((verdict: SanityVerdict) => void)[] = []
  let managedBy: SlotRow['managed_by'] = null
  /** What was opened and not closed. */
  const opened = { probers: 0, liveLooks: 0, ports: 0 }
  /** The test may put another build in the place of the engine: then it is another launch. */
  const fingerprintOf = (modelId: string) => `${modelId}, build ${build}`
  let looks: (() => void)[] = []
  const fileOf = (keys: Readonly<Record<string, unknown>>) =>
    slotFileSchema.parse({
      name: 's',
      model: { default: 'm' },
      ...(options.port === undefined ? {} : { port: options.port }),
      ...keys,
    })
  let config = fileOf({})
  const publish = (event: NewEvent) => {
    events.push(event)
    options.onEvent?.(event)
  }
  const board = new StateBoard(
    { name: 's', state: 'offline', model_id: 'm', port: null, updated_at: isoTime(0), message: '', extra: {} },
    { clock, bus: { publish }, writer: { write: () => {}, flush: async () => {} } },
  )
  const boundTo = (override: Override | undefined) => ({
    ...bindingOf(config),
    modelId: override?.modelId ?? config.model.default,
  })
  const actor = new SlotActor('s', bindingOf(config), board, {
    clock,
    runtime,
    log,
    bus: { publish },
    settings: {
      ...DEFAULT_SLOT_SETTINGS,
      queueLimit: options.queueLimit ?? 1_000,
      stopGraceMs: options.stopGraceMs ?? DEFAULT_SLOT_SETTINGS.stopGraceMs,
      unloadAfterMs: options.unloadAfterMs ?? 0,
      isSanityOffEverywhere: options.gated !== true,
    },
    effects: {
      readBinding: async (_slot, override) => {
        const bound = boundTo(override)
        if (unregistered.has(bound.modelId)) throw Hal0Error.of('model.not_found', `no row for ${bound.modelId}`)
        return bound
      },
      examine: async (_slot, override, running) => {
        await filesHeld
        const { modelId } = boundTo(override)
        const problem =
          files instanceof Error
            ? toHal0Error(files)
            : unregistered.has(modelId)
              ? Hal0Error.of('model.not_found', `no row for ${modelId}`)
              : broken.has(modelId)
                ? Hal0Error.of('slot.model_missing', `no ${modelId}`)
                : undefined
        const differs = files === 'changed' || running?.binding.bound.modelId !== boundTo(override).modelId
        return {
          bound: boundTo(override),
          problem,
          fingerprint: problem === undefined ? fingerprintOf(modelId) : undefined,
          thinking: problem === undefined ? UNDECIDED_THINKING : undefined,
          restartNeeded: running !== undefined && problem === undefined && differs ? ['model'] : [],
          drift: [],
        }
      },
      prepare: async (bound) => {
        if (broken.has(bound.modelId)) throw Hal0Error.of('slot.model_missing', `no ${bound.modelId}`)
        return bind(bound)
      },
      drawKey: async () => 'k',
      missing: {
        find: async (modelId) =>
          options.pull === undefined || options.isMissing?.(modelId) === false
            ? undefined
            : { what: 'org/name', fetch: options.pull },
      },
      estimate: async () => ({ kind: 'unknown', reason: 'made up' }),
      recordLaunch: async () => {},
      askSanity: ({ signal }) =>
        new Promise((resolve) => {
          judgements.push(resolve)
          signal.addEventListener('abort', () => {
            judgements = judgements.filter((one) => one !== resolve)
            resolve({ kind: 'ambiguous', why: 'nobody wants to know any more' })
          })
        }),
      openLiveLook: () => {
        opened.liveLooks++
        return {
          look: async () => liveLook,
          close: async () => {
            opened.liveLooks--
          },
        }
      },
      // A look lasts until the test says what it sees, or until the next look.
      openProber: () => {
        opened.probers++
        return {
          look: () =>
            new Promise((resolve) => {
              if (verdict.kind !== 'silent') resolve(take())
              else looks.push(() => resolve(take()))
            }),
          close: async () => {
            opened.probers--
          },
        }
      },
      logPath: () => '/log',
      explain: async (_engine, facts, during) => ({
        code: during === 'up' ? 'dispatch.upstream_unavailable' : 'slot.spawn_failed',
        message: `the engine exited with ${facts.kind === 'code' ? `code ${facts.code}` : facts.kind}`,
        cause: facts.kind === 'code' && facts.code === 98 ? 'port_in_use' : null,
        line: 'decisive',
        remedy: 'do this',
        at: isoTime(facts.atMs),
      }),
    },
    desk: options.desk ?? OPEN_DESK,
    onLoadEnded: (record) => {
      loads.push(record)
      options.onLoadEnded?.(record)
    },
    startRefusal: () => startRefusal,
    managedBy: () => managedBy,
    onEngineGone: (attemptId) => void gone.push(attemptId),
    onDown: (slot) => void downs.push(slot),
  })
  function bind(bound: SlotBinding): Binding {
    const plan: LaunchPlan = { slot: 's', command: ['/fake'], flags: [], env: {}, port: 8081, keyEnv: 'FAKE_KEY' }
    modelOfPlan.set(plan, bound.modelId)
    const launch = { plan, ...FAKE_LAUNCH }
    opened.ports++
    const releasePort = () => {
      opened.ports--
      portsReleased.push('s')
    }
    return { bound, runner: FAKE_RUNNER, launch, plan, fingerprint: fingerprintOf(bound.modelId), releasePort }
  }
  function take(): ProbeVerdict {
    const said = verdict
    verdict = { kind: 'silent' }
    return said
  }
  const ask = (by: StartedBy): Promise<SlotRow> => {
    const answer = deferred<SlotRow>()
    actor.post({ type: 'load', by, answer })
    return answer.promise
  }
  const end = (type: 'unload' | 'restart', drainMs: number): Promise<SlotRow> => {
    const answer = deferred<SlotRow>()
    actor.post({ type, drainMs, answer })
    return answer.promise
  }
  return {
    clock,
    runtime,
    /** Attempts whose connections are of no more use, in order. */
    gone,
    /** One entry per start whose port others may have. */
    portsReleased,
    /** One entry each time the actor said that nothing of it runs or is about to. */
    downs,
    /** Models whose file is missing; those that models.toml does not know. The test may change both. */
    broken,
    unregistered,
    /** Everything the bus was told, in order. */
    events,
    /** What was opened for engines and not closed since. */
    opened,
    /** The model of a plan that was prepared. */
    modelOfPlan: (plan: LaunchPlan): string | undefined => modelOfPlan.get(plan),
    /** The model of one start; undefined = no such start. */
    modelOf: (attemptId: string): string | undefined => {
      const start = runtime.starts.find((one) => one.options.attemptId === attemptId)
      return start === undefined ? undefined : modelOfPlan.get(start.plan)
    },
    row: () => actor.row(),
    view: actor.view,
    /** A lease, where the slot gives one at once. */
    leaseNow: (modelId?: string): Lease | undefined => actor.leaseNow(modelId),
    lookNow: (): Lease | undefined => actor.lookNow(),
    engines: (): readonly FakeEngine[] => runtime.starts.map((start) => start.engine),
    engine: (): FakeEngine => {
      const last = runtime.starts.at(-1)
      if (last === undefined) throw new Error('no engine was started')
      return last.engine
    },
    failNextStart: (reason: string) => {
      const before = runtime.beforeStart
      runtime.beforeStart = (plan) => {
        runtime.beforeStart = before
        throw spawnFailed(plan, reason)
      }
    },
    /** What the slot's files say from now on, compared with what runs. */
    setFiles: (next: 'same' | 'changed' | Error) => {
      files = next
      letFiles()
    },
    /** Reading the files lasts until `setFiles`. */
    holdFiles: () => {
      const letEarlier = letFiles
      filesHeld = new Promise((resolve) => {
        letFiles = () => {
          letEarlier()
          resolve()
        }
      })
    },
    /** What the next look at the engine sees. */
    say: (next: ProbeVerdict) => {
      verdict = next
      const waiting = looks
      looks = []
      // The newest sees it; those before it, whose engines nobody asks about any more, see nothing.
      for (const look of waiting.toReversed()) look()
    },
    /** Every state the bus was told of, in order. */
    states: () => events.filter((event) => event.type === 'slot.state').map((event) => String(event.data['to'])),
    load: (by: StartedBy = 'person') => ask(by),
    /** Loads that have ended, in order. */
    loads,
    /** The engine's answer to the known question is looked at; waits for one that has been asked. */
    judge: (answer: SanityVerdict) => judgements.shift()?.(answer),
    /** What the live watch sees from now on. */
    lookLive: (next: Look) => {
      liveLook = next
    },
    /** Why nothing may start from now on; undefined = it may. */
    refuseStarts: (error: Hal0Error | undefined) => {
      startRefusal = error
    },
    /** The slot's own file says this from now on, beside its name and model. */
    configure: (keys: Readonly<Record<string, unknown>>) => {
      config = fileOf(keys)
    },
    setManagedBy: (next: SlotRow['managed_by']) => {
      managedBy = next
    },
    /** How many answers are looked at at this moment. */
    asked: () => judgements.length,
    /** As a slot's first message: an engine that an earlier daemon started. `known`: what that daemon found of its answers. */
    adopt: async (known?: SanityResult): Promise<void> => {
      const bound = boundTo(undefined)
      const binding = bind(bound)
      const attemptId = 'adopted'
      const process = await runtime.start(binding.plan, { attemptId, secretEnv: {}, logPath: '/log' })
      void process.exited.then(binding.releasePort)
      const need = { kind: 'unknown', reason: 'made up' } as const
      const engine = { attemptId, binding, process, engineKey: 'k', logPath: '/log', need }
      actor.post({ type: 'adopt', engine, known })
    },
    /** Another build of the engine: what a start launches from now on is another launch. */
    newBuild: () => {
      build++
    },
    evict: (): Promise<EvictionOutcome> => {
      const answer = deferred<EvictionOutcome>()
      actor.post({ type: 'evict', ticket: { reason: 'preload', untilReady: false, answer } })
      return answer.promise
    },
    claim: (untilReady = false, reason: EvictionReason = 'preload'): Claim => {
      const answer = deferred<EvictionOutcome>()
      const ticket = { reason, untilReady, answer }
      actor.post({ type: 'claim', ticket })
      return { gone: answer.promise, giveUp: () => actor.post({ type: 'give_up_claim', ticket }) }
    },
    unload: (drainMs = 30_000) => end('unload', drainMs),
    /** Also a pinned one. */
    unloadByForce: (drainMs = 30_000): Promise<SlotRow> => {
      const answer = deferred<SlotRow>()
      actor.post({ type: 'unload', drainMs, force: true, answer })
      return answer.promise
    },
    restart: (drainMs = 30_000) => end('restart', drainMs),
    close: (how: { drainMs: number; keepEngine: boolean }) => {
      const answer = deferred<void>()
      actor.post({ type: 'close', why: 'daemon_stops', ...how, answer })
      return answer.promise
    },
    closeIfDown: () => {
      const answer = deferred<void>()
      actor.post({ type: 'close_if_down', why: 'deleted', answer })
      return answer.promise
    },
    swap: (modelId: string | undefined, drainMs = 30_000): Promise<SlotRow> => {
      const answer = deferred<SlotRow>()
      const override = modelId === undefined ? undefined : { modelId }
      actor.post({ type: 'swap', override, drainMs, answer })
      return answer.promise
    },
    look: (): Promise<SlotRow> => {
      const answer = deferred<SlotRow>()
      actor.post({ type: 'files_changed', answer })
      return answer.promise
    },
    acquire: (wish: { waitMs?: number; signal?: AbortSignal; modelId?: string; key?: string } = {}): Promise<Lease> => {
      const lease = new Promise<Lease>((resolve, reject) => {
        const waiter = { resolve, reject, waitMs: wish.waitMs ?? 60_000, modelId: wish.modelId, key: wish.key }
        wish.signal?.addEventListener('abort', () => {
          actor.post({ type: 'withdraw', waiter, reason: wish.signal?.reason })
        })
        actor.post({ type: 'acquire', waiter })
      })
      // A test may look at the outcome later than it is known.
      lease.catch(() => undefined)
      return lease
    },
    /** Everything has happened that needs no time; a fault in the actor fails the test. */
    settle: async () => {
      for (let i = 0; i < 5; i++) await settle()
      if (faults.length > 0) throw new Error(`faults in the actor: ${JSON.stringify(faults)}`)
    },
  }
}

/** A slot that has been loaded. */
export async function openReadyActor(options: HarnessOptions = {}): Promise<ActorHarness> {
  const slot = openActor(options)
  const loaded = slot.load()
  await slot.settle()
  slot.say({ kind: 'ready', parallel: options.parallel ?? 2 })
  await slot.settle()
  await loaded
  return slot
}

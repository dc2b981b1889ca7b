import type { Clock } from '../kernel/clock.ts'
import { sleep } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import { toHal0Error } from '../kernel/errors.ts'
import type { EngineProcess, Runtime } from '../runtimes/runtime.ts'
import type { SlotEffects } from './effects.ts'
import type { Binding } from './prepare-launch.ts'
import type { ProbeVerdict } from './probe.ts'
import type { Override, SlotBinding } from './read-binding.ts'
import { chooseProbeDelay } from './rules/probe-delay.ts'
import { PROBE_EARLY_FOR_MS, PROBE_EARLY_MAX_MS, PROBE_FIRST_MS, PROBE_LATE_MS } from './settings.ts'
import type { StartedEngine } from './started-engine.ts'

export interface AttemptDeps {
  readonly effects: SlotEffects
  readonly runtime: Runtime
  readonly clock: Clock
}

/** Messages of an attempt to its actor; each carries the attempt it belongs to. */
export type AttemptMessage = { readonly attemptId: string } & (
  | { readonly type: 'configured'; readonly bound: SlotBinding }
  | { readonly type: 'planned'; readonly binding: Binding }
  | { readonly type: 'spawned'; readonly engine: StartedEngine; readonly spawnMs: number }
  | { readonly type: 'probed'; readonly verdict: ProbeVerdict; readonly warmMs: number }
  | { readonly type: 'attempt_failed'; readonly error: Hal0Error }
)

/** What one start is to launch; the rest is read from the files. */
export interface AttemptInput {
  readonly slot: string
  readonly attemptId: string
  readonly previousPort: number | null
  readonly override: Override | undefined
}

/** One start, running outside the actor. */
export interface LoadAttempt {
  readonly id: string
  /** The process, once and if there is one; never rejects. Whoever cancels must stop what comes out of it. */
  readonly spawned: Promise<EngineProcess | undefined>
  /**
   * No further message is posted. What has not been spawned never will be, and nobody waits for slow files; a process that is
   * being spawned at this moment still comes out of `spawned`.
   */
  cancel(): void
}

/** Prepares the launch, draws the key, spawns, then looks at the engine until it is ready. Everything it learns is posted. */
export function beginAttempt(
  deps: AttemptDeps,
  input: AttemptInput,
  post: (message: AttemptMessage) => void,
): LoadAttempt {
  const { slot, attemptId } = input
  const { effects } = deps
  const abort = new AbortController()
  let isSpawning = false
  const say = (message: AttemptMessage) => {
    if (!abort.signal.aborted) post(message)
  }

  async function spawn(): Promise<StartedEngine | undefined> {
    const begunMs = deps.clock.monotonicMs()
    const bound = await effects.readBinding(slot, input.override)
    say({ type: 'configured', attemptId, bound })
    const binding = await effects.prepare(bound, input.previousPort, abort.signal)
    const engine = await start(binding, begunMs).catch((cause: unknown) => {
      binding.releasePort()
      throw cause
    })
    if (engine === undefined) binding.releasePort()
    else void engine.process.exited.then(binding.releasePort)
    return engine
  }

  async function start(binding: Binding, begunMs: number): Promise<StartedEngine | undefined> {
    if (abort.signal.aborted) return undefined
    say({ type: 'planned', attemptId, binding })
    const keyEnv = binding.plan.keyEnv
    const engineKey = keyEnv === undefined ? undefined : await effects.drawKey(slot)
    const logPath = effects.logPath(slot)
    if (abort.signal.aborted) return undefined
    const secretEnv = keyEnv === undefined || engineKey === undefined ? {} : { [keyEnv]: engineKey }
    isSpawning = true
    const process = await deps.runtime.start(binding.plan, { attemptId, secretEnv, logPath })
    const engine: StartedEngine = { attemptId, binding, process, engineKey, logPath }
    say({ type: 'spawned', attemptId, engine, spawnMs: deps.clock.monotonicMs() - begunMs })
    return engine
  }

  const started = spawn().catch((cause: unknown) => {
    say({ type: 'attempt_failed', attemptId, error: toHal0Error(cause) })
    return undefined
  })
  void started.then(async (engine) => {
    if (engine !== undefined)
      await watch(deps, engine, abort.signal, (verdict, warmMs) => {
        say({ type: 'probed', attemptId, verdict, warmMs })
      })
  })
  return {
    id: attemptId,
    spawned: new Promise((resolve) => {
      void started.then((engine) => resolve(engine?.process))
      abort.signal.addEventListener('abort', () => {
        if (!isSpawning) resolve(undefined)
      })
    }),
    cancel: () => abort.abort(),
  }
}

/** Looks until the engine is ready or proves to be someone else's, or until nobody wants to know any more. */
async function watch(
  { clock, effects }: AttemptDeps,
  engine: StartedEngine,
  signal: AbortSignal,
  tell: (verdict: ProbeVerdict, warmMs: number) => void,
): Promise<void> {
  const { plan, runner } = engine.binding
  const prober = effects.openProber(`http://127.0.0.1:${plan.port}`, runner.probe, engine.engineKey)
  const begunMs = clock.monotonicMs()
  const ended = new AbortController()
  void engine.process.exited.then(() => ended.abort())
  const stop = AbortSignal.any([signal, ended.signal])
  let delayMs = PROBE_FIRST_MS
  let told: ProbeVerdict['kind'] = 'silent'
  while (!stop.aborted) {
    const verdict = await prober.look()
    const ageMs = clock.monotonicMs() - begunMs
    if (verdict.kind !== told && !stop.aborted) tell(verdict, ageMs)
    told = verdict.kind
    if (verdict.kind === 'ready' || verdict.kind === 'stranger') break
    delayMs = chooseProbeDelay({
      previousMs: delayMs,
      ageMs,
      earlyForMs: PROBE_EARLY_FOR_MS,
      earlyMaxMs: PROBE_EARLY_MAX_MS,
      lateMs: PROBE_LATE_MS,
    })
    await sleep(clock, delayMs, stop)
  }
  await prober.close()
}

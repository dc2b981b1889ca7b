import { runnerKeyOf } from '../../config/slots/rules/slot-defaults.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import { toHal0Error } from '../../kernel/errors.ts'
import type { MemoryNeed } from '../../launch/rules/memory-need.ts'
import { isTagRunner } from '../../runners/rules/service-keys.ts'
import type { EngineProcess, Runtime } from '../../runtimes/runtime.ts'
import type { Admission, MemoryDesk } from '../admission/admission.ts'
import type { SlotEffects } from '../effects.ts'
import { launchRecordOf } from '../launch/launch-record.ts'
import type { Binding } from '../launch/prepare-launch.ts'
import type { Override, SlotBinding } from '../launch/read-binding.ts'
import type { SlotSettings } from '../settings.ts'
import { type EngineNews, followEngine } from './follow-engine.ts'
import type { StartedEngine } from './started-engine.ts'

export interface AttemptDeps {
  readonly effects: SlotEffects
  readonly runtime: Runtime
  readonly desk: MemoryDesk
  readonly clock: Clock
  readonly settings: SlotSettings
}

/** Messages of an attempt to its actor; each carries the attempt it belongs to. */
export type AttemptMessage = { readonly attemptId: string } & (
  | { readonly type: 'configured'; readonly bound: SlotBinding }
  /** Files are fetched; `message` says how far. */
  | { readonly type: 'pulling'; readonly message: string }
  | { readonly type: 'pulled' }
  | { readonly type: 'planned'; readonly binding: Binding }
  /** Waits for memory; '' = not any more. */
  | { readonly type: 'waiting'; readonly message: string }
  | { readonly type: 'admitted'; readonly admission: Admission; readonly need: MemoryNeed }
  | { readonly type: 'spawned'; readonly engine: StartedEngine; readonly spawnMs: number }
  | EngineNews
  | { readonly type: 'attempt_failed'; readonly error: Hal0Error }
)

/** What one start is to launch; the rest is read from the files. */
export interface AttemptInput {
  readonly slot: string
  readonly attemptId: string
  readonly previousPort: number | null
  readonly override: Override | undefined
  /** Monotonic ms at which the oldest request that waits for the slot came. */
  readonly oldestWaiterMs: () => number | undefined
  /** The files as they were read a moment ago, nothing missing; undefined in it = they are to be read now. */
  readonly boundAhead?: Promise<SlotBinding | undefined> | undefined
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

/**
 * Fetches what is missing, prepares the launch, asks for memory, draws the key, spawns, then follows the engine until it is ready. Everything
 * it learns is posted. Source: SPEC 5.
 */
export function beginAttempt(
  deps: AttemptDeps,
  input: AttemptInput,
  post: (message: AttemptMessage) => void,
): LoadAttempt {
  const { slot, attemptId } = input
  const { effects, clock } = deps
  const abort = new AbortController()
  let isSpawning = false
  const say = (message: AttemptMessage) => {
    if (!abort.signal.aborted) post(message)
  }

  async function spawn(): Promise<StartedEngine | undefined> {
    let begunMs = clock.monotonicMs()
    const ahead = await input.boundAhead
    const bound = ahead ?? (await effects.readBinding(slot, input.override))
    say({ type: 'configured', attemptId, bound })
    if (ahead === undefined) await fetchMissing(bound)
    const binding = await effects.prepare(bound, input.previousPort, abort.signal)
    let admission: Admission | undefined
    const giveBack = () => {
      binding.releasePort()
      admission?.settle()
    }
    try {
      if (abort.signal.aborted) {
        giveBack()
        return undefined
      }
      say({ type: 'planned', attemptId, binding })
      const preparedMs = clock.monotonicMs() - begunMs
      const need = await effects.estimate(binding)
      const written = writeDown(binding, need)
      admission = await admit(binding, need)
      begunMs = clock.monotonicMs() - preparedMs
      const engine = await start(binding, need, admission, begunMs, written)
      if (engine === undefined) giveBack()
      else void engine.process.exited.then(giveBack)
      return engine
    } catch (cause) {
      giveBack()
      throw cause
    }
  }

  /** Its own clock: nothing else of a load counts while files are fetched. */
  async function fetchMissing(bound: SlotBinding): Promise<void> {
    const isTag = isTagRunner(runnerKeyOf(bound.config))
    const missing = bound.modelId === '' || isTag ? undefined : await effects.missing.find(bound.modelId)
    if (missing === undefined || abort.signal.aborted) return
    say({ type: 'pulling', attemptId, message: `fetching ${missing.what}` })
    await missing.fetch(abort.signal, (message) => say({ type: 'pulling', attemptId, message }))
    say({ type: 'pulled', attemptId })
  }

  function admit({ bound }: Binding, need: MemoryNeed): Promise<Admission> {
    const { config } = bound
    return deps.desk.admit({
      slot,
      device: config.device,
      gpus: bound.gpus,
      need,
      mode: config.admission ?? deps.settings.admission,
      signal: abort.signal,
      oldestWaiterMs: input.oldestWaiterMs,
      onWaiting: (message) => say({ type: 'waiting', attemptId, message }),
    })
  }

  /** Before there is a process: whoever finds it knows what it is, if the disk takes it. Resolves with its key; undefined = it has none. */
  function writeDown(binding: Binding, need: MemoryNeed): Promise<string | undefined> {
    const key = binding.plan.keyEnv === undefined ? undefined : effects.drawKey(slot)
    const record = effects.recordLaunch(launchRecordOf(slot, attemptId, binding, need))
    const written = Promise.all([key, record]).then(([drawn]) => drawn)
    // Told when the load would go on; it may end before for another reason.
    written.catch(() => {})
    return written
  }

  async function start(
    binding: Binding,
    need: MemoryNeed,
    admission: Admission,
    begunMs: number,
    written: Promise<string | undefined>,
  ): Promise<StartedEngine | undefined> {
    if (abort.signal.aborted) return undefined
    say({ type: 'admitted', attemptId, admission, need })
    const { keyEnv } = binding.plan
    const engineKey = await written
    const logPath = effects.logPath(slot)
    if (abort.signal.aborted) return undefined
    const secretEnv = keyEnv === undefined || engineKey === undefined ? {} : { [keyEnv]: engineKey }
    isSpawning = true
    const process = await deps.runtime.start(binding.plan, { attemptId, secretEnv, logPath })
    const engine: StartedEngine = { attemptId, binding, process, engineKey, logPath, need }
    say({ type: 'spawned', attemptId, engine, spawnMs: clock.monotonicMs() - begunMs })
    void followEngine(deps, engine, { signal: abort.signal, onUp: () => admission.settle() }, say)
    return engine
  }

  const started = spawn().catch((cause: unknown) => {
    say({ type: 'attempt_failed', attemptId, error: toHal0Error(cause) })
    return undefined
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

/** The same for an engine that an earlier daemon started: it is followed from where it is. Source: SPEC 4 "Adoption". */
export function adoptAttempt(
  deps: AttemptDeps,
  engine: StartedEngine,
  isJudged: boolean,
  post: (message: AttemptMessage) => void,
): LoadAttempt {
  const abort = new AbortController()
  void followEngine(deps, engine, { signal: abort.signal, isJudged, onUp: () => {} }, (message) => {
    if (!abort.signal.aborted) post(message)
  })
  return { id: engine.attemptId, spawned: Promise.resolve(engine.process), cancel: () => abort.abort() }
}

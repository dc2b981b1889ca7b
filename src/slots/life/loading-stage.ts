import type { SanityResult, SlotFailure, SlotStateRecord } from '../../contract/slot-state.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { EngineMessageOf } from '../actor/actor-messages.ts'
import { NO_LAUNCH } from '../actor/breaker-book.ts'
import { RECOVERED_AFTER_MS } from '../rules/next-breaker.ts'
import {
  failureOf,
  insaneError,
  loadFailedError,
  neverReadyError,
  noModelServedError,
  strangerError,
} from '../slot-failures.ts'
import type { EndingStage } from './ending-stage.ts'
import type { LifeCore } from './life-core.ts'
import type { LoadAttempt } from './load-attempt.ts'
import { type PhaseOf, startClocks, stopClocks, type Try } from './phase.ts'
import type { StartedEngine } from './started-engine.ts'
import { watchEngine } from './watch-engine.ts'

/** What is learnt of an engine from the wish for it until it can serve, or will not. Belongs to `EngineLife`. Source: SPEC 5. */
export class LoadingStage {
  readonly #core: LifeCore
  readonly #ending: EndingStage

  constructor(core: LifeCore, ending: EndingStage) {
    this.#core = core
    this.#ending = ending
  }

  beforeSpawn(
    phase: PhaseOf<'loading'>,
    message: EngineMessageOf<'pulling' | 'pulled' | 'planned' | 'waiting' | 'admitted'>,
  ): void {
    const board = this.#core.board
    switch (message.type) {
      case 'pulling':
        stopClocks(phase)
        // There was nothing to start yet after all: by way of offline, which is how the table has it.
        if (board.state === 'starting') {
          board.apply('stopped', { message: message.message })
          board.apply('pull_begun', { message: message.message })
        } else board.refresh({ message: message.message })
        return
      case 'pulled':
        board.apply('start_begun', { message: '' })
        return startClocks(phase, this.#core.deps, this.#core.post)
      case 'planned':
        this.#core.ctx = message.binding.launch.ctx
        phase.launch = message.binding.fingerprint
        this.#core.parts.breaker.launchIs(message.binding.bound.modelId, phase.launch)
        this.#core.parts.files.planned(message.binding.launch.thinking)
        return board.refresh({ port: message.binding.plan.port })
      case 'waiting':
        phase.isWaitingForMemory = message.message !== ''
        stopClocks(phase)
        return board.refresh({ message: message.message })
      case 'admitted': {
        const { phases, note } = message.admission
        phase.isWaitingForMemory = false
        Object.assign(phase.took, phases)
        if (note !== '') this.#core.deps.log.info({ slot: this.#core.name, note }, 'admitted without a check of memory')
        board.refresh({ message: '' })
        return startClocks(phase, this.#core.deps, this.#core.post)
      }
    }
  }

  spawned({ engine, attemptId, spawnMs }: EngineMessageOf<'spawned'>): void {
    if (this.#core.phase.kind !== 'loading') return
    this.#core.phase.engine = engine
    this.#core.phase.took.spawn = Math.round(spawnMs)
    this.#hearOfExit(engine)
    this.#core.board.apply('process_started', {
      message: 'the engine reads the model',
      extra: { attempt_id: attemptId, process: engine.process.ref },
    })
  }

  probed({ verdict, warmMs, isGated }: EngineMessageOf<'probed'>): void {
    const phase = this.#core.phase
    if (phase.kind === 'up') {
      if (verdict.kind !== 'ready' || phase.hasModel) return
      phase.parallel = placesOf(phase.engine, verdict.parallel)
      return isGated ? undefined : this.#gotModel(phase, 'off')
    }
    if (phase.kind !== 'loading' || phase.engine === undefined) return
    if (verdict.kind === 'stranger') {
      const error = strangerError(this.#core.name, phase.engine.binding.plan.port, verdict.reason)
      if (!this.#core.tryAnotherPort()) this.#failLoad(phase, failureOf(error, this.#core.deps.clock.nowMs()))
      return this.#ending.endAttempt(phase)
    }
    if (verdict.kind !== 'ready' && verdict.kind !== 'no_model') return
    phase.took.warm = Math.round(warmMs)
    if (verdict.kind === 'no_model') return this.#cameUp(phase, undefined)
    phase.answers = { parallel: placesOf(phase.engine, verdict.parallel) }
    if (isGated) this.#core.board.refresh({ message: 'looking at what it answers' })
    else this.#cameUp(phase, this.#core.knownSanity ?? 'off')
  }

  judged({ verdict, sanityMs }: EngineMessageOf<'judged'>): void {
    const phase = this.#core.phase
    if (phase.kind !== 'loading' && phase.kind !== 'up') return
    if (verdict.kind === 'ambiguous')
      return this.#core.board.refresh({ message: `looking at what it answers: ${verdict.why}` })
    if (phase.kind === 'loading') phase.took.sanity = Math.round(sanityMs)
    if (verdict.kind === 'failed') {
      const error = insaneError(this.#core.name, verdict)
      if (phase.kind === 'up') return this.#ending.foundUseless(phase, error)
      this.#failLoad(phase, failureOf(error, this.#core.deps.clock.nowMs()), error)
      return this.#ending.endAttempt(phase)
    }
    if (phase.kind === 'loading') this.#cameUp(phase, verdict.kind)
    else if (!phase.hasModel) this.#gotModel(phase, verdict.kind)
  }

  /** `sanity` undefined = it lists no model. */
  #cameUp(loading: PhaseOf<'loading'>, sanity: SanityResult | undefined): void {
    const { attempt, engine, answers } = loading
    if (engine === undefined) return
    stopClocks(loading)
    if (!loading.isAdopted) {
      this.#core.times.completed(loading.took, this.#core.deps.clock.monotonicMs() - loading.begunMs)
    }
    const parallel = answers?.parallel ?? null
    const stopWatch = this.#watch(engine)
    const up: PhaseOf<'up'> = {
      kind: 'up',
      attempt,
      engine,
      hasModel: false,
      parallel,
      readySinceMs: undefined,
      stopWatch,
    }
    this.#core.phase = up
    if (sanity !== undefined) {
      if (!loading.isAdopted) this.#core.report.ready(loading)
      return this.#gotModel(up, sanity)
    }
    this.#core.board.apply('no_model_listed', {
      message: 'the engine lists no model',
      extra: { ...this.#core.board.record.extra, idle_reason: 'no_model' },
    })
    // The daemon that loaded it has counted that.
    if (!loading.isAdopted) this.#core.report.noModel(loading)
    this.#core.listener.onLoadFailed(
      noModelServedError(this.#core.name, this.#core.board.record.model_id),
      engine.binding.bound.modelId,
    )
  }

  #gotModel(phase: PhaseOf<'up'>, sanity: SanityResult): void {
    phase.hasModel = true
    phase.readySinceMs = this.#core.deps.clock.monotonicMs()
    this.#watchRecovery(phase)
    const { failure: _cured, idle_reason: _over, ...extra } = this.#core.board.record.extra
    this.#core.board.apply('became_ready', { message: '', extra: { ...extra, sanity } })
    this.#core.deps.log.info({ slot: this.#core.name, phases: this.#core.times.last }, 'ready')
    this.#core.listener.onReady()
  }

  /** Up without a model is not ready: what counts against it stays. */
  #watchRecovery(phase: PhaseOf<'up'>): void {
    const { attemptId } = phase.engine
    const cancel = this.#core.deps.clock.setTimer(RECOVERED_AFTER_MS, () =>
      this.#core.post({ type: 'recovered', attemptId }),
    )
    const { stopWatch } = phase
    phase.stopWatch = () => {
      stopWatch()
      cancel()
    }
  }

  /** Looks whether it lives. Returns how to end that. */
  #watch(engine: StartedEngine): () => void {
    const { attemptId } = engine
    const stop = new AbortController()
    const onDead = (reason: string) => this.#core.post({ type: 'found_dead', attemptId, reason })
    void watchEngine(this.#core.deps, engine, this.#core.parts.lastMovedMs, stop.signal, onDead)
    return () => stop.abort()
  }

  /** Nothing was started: there is nothing to stop either. */
  attemptFailed(error: Hal0Error): void {
    const phase = this.#core.phase
    if (phase.kind !== 'loading') return
    stopClocks(phase)
    this.#core.phase = { kind: 'down' }
    if (error.code !== 'slot.loading')
      return this.#failLoad(phase, failureOf(error, this.#core.deps.clock.nowMs()), error, {})
    // Others hold the memory: nothing is wrong with this slot.
    this.#core.board.apply('stopped', { message: error.message, extra: {} })
    this.#core.report.gaveUp(phase, error.code)
    this.#core.listener.onLoadFailed(error, phase.modelId)
  }

  limitDue(): void {
    const phase = this.#core.phase
    if (phase.kind !== 'loading') return
    const { clock, log, settings } = this.#core.deps
    if (phase.nth === 1) {
      const message = `not ready after ${Math.round(settings.loadLimitMs / 1000)} s; loading once more`
      this.#core.listener.onAgain(2)
      this.#core.board.refresh({ message })
      this.#core.report.cancelled(phase)
      log.warn({ slot: this.#core.name, attempt: phase.attempt.id }, message)
    } else this.#failLoad(phase, failureOf(neverReadyError(settings.loadLimitMs), clock.nowMs()))
    this.#ending.endAttempt(phase)
  }

  /** The load has failed; its process is ended by whoever calls this. */
  #failLoad(
    phase: PhaseOf<'loading'>,
    failure: SlotFailure,
    error = loadFailedError(this.#core.name, failure),
    extra: SlotStateRecord['extra'] = this.#core.board.record.extra,
  ): void {
    this.#core.board.apply('load_failed', { message: failure.message, extra: { ...extra, failure } })
    this.#core.report.loadFailed(phase, failure)
    this.#core.listener.onLoadFailed(error, phase.modelId)
  }

  enter(attempt: LoadAttempt, nth: Try, engine: StartedEngine | undefined): void {
    const { clock } = this.#core.deps
    const phase: PhaseOf<'loading'> = {
      kind: 'loading',
      attempt,
      isAdopted: engine !== undefined,
      nth,
      begunMs: clock.monotonicMs(),
      begunAtMs: clock.nowMs(),
      took: this.#core.times.begin(),
      modelId: engine?.binding.bound.modelId ?? this.#core.parts.files.override?.modelId,
      launch: engine?.binding.fingerprint ?? NO_LAUNCH,
      engine,
      answers: undefined,
      timers: [],
      isWaitingForMemory: false,
    }
    this.#core.phase = phase
    startClocks(phase, this.#core.deps, this.#core.post)
    if (engine !== undefined) this.#hearOfExit(engine)
  }

  #hearOfExit({ attemptId, process }: StartedEngine): void {
    void process.exited.then((facts) => this.#core.post({ type: 'exited', attemptId, facts }))
  }
}

/** What the engine itself says counts; else what is known of its kind. */
function placesOf({ binding }: StartedEngine, said: number | null): number | null {
  return said ?? binding.runner.concurrency ?? null
}

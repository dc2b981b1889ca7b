import { randomUUID } from 'node:crypto'
import type { ContextChoice, LoadPhases } from '../contract/slot-row.ts'
import type { SlotFailure, SlotStateRecord } from '../contract/slot-state.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import { assertNever } from '../kernel/result.ts'
import type { EngineMessage, EngineMessageOf } from './actor-messages.ts'
import { describeExit } from './explain-exit.ts'
import type { FilesView } from './files-view.ts'
import type { LifeDeps, LifeListener } from './life-ports.ts'
import { LoadTimes } from './load-times.ts'
import { beginLoading, cancelTimers, type Phase, type PhaseOf, type Try } from './phase.ts'
import { PortRetries } from './port-retries.ts'
import type { ProbeVerdict } from './probe.ts'
import { LEFTOVER_GRACE_MS } from './settings.ts'
import {
  announceFailure,
  failureOf,
  loadFailedError,
  neverReadyError,
  noModelServedError,
  strangerError,
} from './slot-failures.ts'
import type { StartedEngine } from './started-engine.ts'
import type { StateBoard } from './state-board.ts'

/**
 * The process of one slot: load, up, end. Belongs to the slot's actor, which alone calls it, one message at a time.
 * Source: SPEC 5.
 */
export class EngineLife {
  readonly #name: string
  readonly #board: StateBoard
  readonly #files: FilesView
  readonly #deps: LifeDeps
  readonly #listener: LifeListener
  readonly #post: (message: EngineMessage) => void
  #phase: Phase = { kind: 'down' }
  #ctx: ContextChoice | undefined
  readonly #times = new LoadTimes()
  readonly #portRetries = new PortRetries()

  constructor(
    slot: { readonly name: string; readonly files: FilesView; readonly board: StateBoard },
    deps: LifeDeps,
    listener: LifeListener,
    post: (message: EngineMessage) => void,
  ) {
    this.#name = slot.name
    this.#files = slot.files
    this.#board = slot.board
    this.#deps = deps
    this.#listener = listener
    this.#post = post
  }

  get phase(): Phase {
    return this.#phase
  }

  /** The one that is up. */
  get engine(): StartedEngine | undefined {
    return this.#phase.kind === 'up' ? this.#phase.engine : undefined
  }

  /** Of the last launch that was prepared. */
  get ctx(): ContextChoice | undefined {
    return this.#ctx
  }

  get lastPhases(): LoadPhases | undefined {
    return this.#times.last
  }

  /** What a running load may still take, by the last one; may be negative. */
  get remainingLoadMs(): number {
    const phase = this.#phase
    return this.#times.remainingMs(phase.kind === 'loading' ? this.#deps.clock.monotonicMs() - phase.begunMs : 0)
  }

  /** Only while down. */
  begin(nth: Try): void {
    this.#portRetries.begun()
    const attemptId = randomUUID()
    this.#board.apply('start_begun', { message: '', extra: { attempt_id: attemptId } })
    const { override } = this.#files
    const start = { slot: this.#name, attemptId, previousPort: this.#board.record.port, override }
    this.#phase = beginLoading(this.#deps, start, { nth, took: this.#times.begin() }, this.#post)
    this.#deps.log.info({ slot: this.#name, attempt: attemptId, nth }, 'loading')
  }

  /** Ends what loads or is up; the leases are the caller's concern, before. Does nothing while down or stopping. */
  stop(): void {
    const phase = this.#phase
    if (phase.kind === 'loading') this.#board.refresh({ message: 'stopping before it was ready' })
    else if (phase.kind === 'up') this.#board.apply('stop_begun', { message: '' })
    else return
    this.#endAttempt(phase)
  }

  /** A start is to follow the stop that runs: what is still learnt of this one is no answer to those who wait. */
  overtake(): void {
    if (this.#phase.kind === 'stopping') this.#phase.isOvertaken = true
  }

  /** Lets go of an engine that is up: it stays alive without us. */
  leave(): void {
    if (this.#phase.kind !== 'up') return
    this.#phase.attempt.cancel()
    this.#phase = { kind: 'down' }
  }

  /** Messages of a superseded attempt have nothing to say any more. */
  handle(message: EngineMessage): void {
    if (message.attemptId !== this.#attemptId()) return
    switch (message.type) {
      case 'configured':
        if (this.#phase.kind === 'loading') this.#phase.modelId = message.bound.modelId
        return this.#files.configured(message.bound)
      case 'planned':
        this.#ctx = message.binding.launch.ctx
        this.#files.planned(message.binding.launch.thinking)
        return this.#board.refresh({ port: message.binding.plan.port })
      case 'spawned':
        return this.#spawned(message)
      case 'probed':
        return this.#probed(message)
      case 'attempt_failed':
        return this.#attemptFailed(message.error)
      case 'exited':
        return this.#exited(message)
      case 'explained':
        return this.#explained(message)
      case 'stopped':
        return this.#stopped()
      case 'verdict_due':
        return this.#board.refresh({ message: `no answer yet; still ${this.#board.state}` })
      case 'limit_due':
        return this.#limitDue()
      default:
        assertNever(message)
    }
  }

  #spawned({ engine, attemptId, spawnMs }: EngineMessageOf<'spawned'>): void {
    if (this.#phase.kind !== 'loading') return
    this.#phase.engine = engine
    this.#phase.took.spawn = Math.round(spawnMs)
    void engine.process.exited.then((facts) => this.#post({ type: 'exited', attemptId, facts }))
    this.#board.apply('process_started', {
      message: 'the engine reads the model',
      extra: { attempt_id: attemptId, process: engine.process.ref },
    })
  }

  #probed({ verdict, warmMs }: EngineMessageOf<'probed'>): void {
    const phase = this.#phase
    if (phase.kind === 'up') {
      if (verdict.kind !== 'ready' || phase.hasModel) return
      phase.hasModel = true
      phase.parallel = verdict.parallel
      return this.#becameReady()
    }
    if (phase.kind !== 'loading' || phase.engine === undefined) return
    if (verdict.kind === 'stranger') {
      const error = strangerError(this.#name, phase.engine.binding.plan.port, verdict.reason)
      if (!this.#tryAnotherPort()) this.#failLoad(phase.modelId, failureOf(error, this.#deps.clock.nowMs()))
      return this.#endAttempt(phase)
    }
    if (verdict.kind === 'ready' || verdict.kind === 'no_model') this.#cameUp(phase, verdict, warmMs)
  }

  #cameUp(phase: PhaseOf<'loading'>, verdict: ProbeVerdict, warmMs: number): void {
    if (phase.engine === undefined) return
    cancelTimers(phase)
    phase.took.warm = Math.round(warmMs)
    this.#times.completed(phase.took, this.#deps.clock.monotonicMs() - phase.begunMs)
    const { attempt, engine } = phase
    const hasModel = verdict.kind === 'ready'
    this.#phase = { kind: 'up', attempt, engine, hasModel, parallel: hasModel ? verdict.parallel : null }
    if (hasModel) return this.#becameReady()
    this.#board.apply('no_model_listed', {
      message: 'the engine lists no model',
      extra: { ...this.#board.record.extra, idle_reason: 'no_model' },
    })
    const { modelId } = engine.binding.bound
    this.#listener.onLoadFailed(noModelServedError(this.#name, this.#board.record.model_id), modelId)
  }

  #becameReady(): void {
    const { failure: _cured, idle_reason: _over, ...extra } = this.#board.record.extra
    this.#board.apply('became_ready', { message: '', extra })
    this.#deps.log.info({ slot: this.#name, phases: this.#times.last }, 'ready')
    this.#listener.onReady()
  }

  /** Nothing was started: there is nothing to stop either. */
  #attemptFailed(error: Hal0Error): void {
    if (this.#phase.kind !== 'loading') return
    cancelTimers(this.#phase)
    const { modelId } = this.#phase
    this.#phase = { kind: 'down' }
    this.#failLoad(modelId, failureOf(error, this.#deps.clock.nowMs()), error, {})
  }

  #limitDue(): void {
    const phase = this.#phase
    if (phase.kind !== 'loading') return
    const { clock, log, settings } = this.#deps
    if (phase.nth === 1) {
      const message = `not ready after ${Math.round(settings.loadLimitMs / 1000)} s; loading once more`
      this.#listener.onAgain(2)
      this.#board.refresh({ message })
      log.warn({ slot: this.#name, attempt: phase.attempt.id }, message)
    } else this.#failLoad(phase.modelId, failureOf(neverReadyError(settings.loadLimitMs), clock.nowMs()))
    this.#endAttempt(phase)
  }

  /** The load has failed; its process is ended by whoever calls this. */
  #failLoad(
    modelId: string | undefined,
    failure: SlotFailure,
    error = loadFailedError(this.#name, failure),
    extra: SlotStateRecord['extra'] = this.#board.record.extra,
  ): void {
    this.#board.apply('load_failed', { message: failure.message, extra: { ...extra, failure } })
    announceFailure(this.#deps, this.#name, 'slot.load_failed', failure)
    this.#listener.onLoadFailed(error, modelId)
  }

  /** The main process is gone although nobody asked. The state says so at once; why, as soon as the log has been read. */
  #exited({ facts, attemptId }: EngineMessageOf<'exited'>): void {
    const phase = this.#phase
    if ((phase.kind !== 'loading' && phase.kind !== 'up') || phase.engine === undefined) return
    const { engine } = phase
    const { modelId } = engine.binding.bound
    const exit = describeExit(facts)
    const wasUp = phase.kind === 'up'
    phase.attempt.cancel()
    if (phase.kind === 'loading') cancelTimers(phase)
    this.#board.apply('process_died', { message: `the engine ${exit}`, extra: { attempt_id: attemptId } })
    if (wasUp) this.#listener.onCrashed(exit)
    this.#enterStopping(attemptId)
    void this.#deps.effects.explain(engine, facts, wasUp ? 'up' : 'loading').then(async (failure) => {
      this.#post({ type: 'explained', attemptId, failure, wasUp, modelId })
      await engine.process.stop({ graceMs: LEFTOVER_GRACE_MS })
      this.#post({ type: 'stopped', attemptId })
    })
  }

  /** Requests that only waited for a place go on with the next load; those that waited for this load get their answer here. */
  #explained({ failure, wasUp, modelId }: EngineMessageOf<'explained'>): void {
    const isOvertaken = this.#phase.kind === 'stopping' && this.#phase.isOvertaken
    if (!wasUp && failure.cause === 'port_in_use' && (isOvertaken || this.#tryAnotherPort())) return
    this.#board.refresh({ message: failure.message, extra: { ...this.#board.record.extra, failure } })
    announceFailure(this.#deps, this.#name, wasUp ? 'slot.crashed' : 'slot.load_failed', failure)
    if (!wasUp && !isOvertaken) this.#listener.onLoadFailed(loadFailedError(this.#name, failure), modelId)
  }

  #tryAnotherPort(): boolean {
    if (!this.#portRetries.mayTryAnother(this.#files.bound?.config.port)) return false
    if (!this.#listener.onAgain(1)) return false
    this.#board.refresh({ message: `port ${this.#board.record.port} was taken meanwhile; trying another` })
    return true
  }

  #endAttempt(phase: PhaseOf<'loading' | 'up'>): void {
    const { attempt } = phase
    if (phase.kind === 'loading') cancelTimers(phase)
    attempt.cancel()
    this.#enterStopping(attempt.id)
    void attempt.spawned.then(async (process) => {
      await process?.stop({ graceMs: this.#deps.settings.stopGraceMs })
      this.#post({ type: 'stopped', attemptId: attempt.id })
    })
  }

  #enterStopping(attemptId: string): void {
    this.#phase = { kind: 'stopping', attemptId, begunMs: this.#deps.clock.monotonicMs(), isOvertaken: false }
    this.#listener.onEngineGone(attemptId)
  }

  #stopped(): void {
    if (this.#phase.kind !== 'stopping') return
    const tookMs = this.#deps.clock.monotonicMs() - this.#phase.begunMs
    this.#phase = { kind: 'down' }
    const { failure } = this.#board.record.extra
    if (this.#board.state === 'error') this.#board.refresh({ extra: failure === undefined ? {} : { failure } })
    else this.#board.apply('stopped', { message: '', extra: {} })
    this.#deps.log.info({ slot: this.#name, tookMs: Math.round(tookMs) }, 'engine stopped')
    this.#times.afterStop(tookMs, () => this.#listener.onDown())
  }

  #attemptId(): string | undefined {
    const phase = this.#phase
    if (phase.kind === 'down') return undefined
    return phase.kind === 'stopping' ? phase.attemptId : phase.attempt.id
  }
}

import type { Hal0Error } from '../../kernel/errors.ts'
import type { EngineMessageOf } from '../actor/actor-messages.ts'
import { LEFTOVER_GRACE_MS } from '../settings.ts'
import { engineDiedError, failureOf, loadFailedError } from '../slot-failures.ts'
import { describeExit } from './explain-exit.ts'
import { takeHeadStart } from './head-start.ts'
import type { LifeCore } from './life-core.ts'
import { type PhaseOf, stopClocks } from './phase.ts'
import type { StartedEngine } from './started-engine.ts'

/** How an engine ends, asked for or not, until nothing of it is left. Belongs to `EngineLife`. Source: SPEC 5 "Live watch", "Stop". */
export class EndingStage {
  readonly #core: LifeCore

  constructor(core: LifeCore) {
    this.#core = core
  }

  /** The process is there, but nobody can use it. */
  foundUseless(phase: PhaseOf<'up'>, error: Hal0Error): void {
    const failure = failureOf(error, this.#core.deps.clock.nowMs())
    const { attempt_id: attemptId, process } = this.#core.board.record.extra
    const extra = {
      ...(attemptId === undefined ? {} : { attempt_id: attemptId }),
      ...(process && { process }),
      failure,
    }
    this.#core.board.apply('process_died', { message: failure.message, extra })
    this.#core.report.died(phase.engine, phase.readySinceMs)
    this.#core.report.crashed(phase.engine.binding.bound.modelId, failure)
    this.#core.listener.onCrashed(error)
    this.endAttempt(phase)
  }

  /** The main process is gone although nobody asked. The state says so at once; why, as soon as the log has been read. */
  exited({ facts, attemptId }: EngineMessageOf<'exited'>): void {
    const phase = this.#core.phase
    if ((phase.kind !== 'loading' && phase.kind !== 'up') || phase.engine === undefined) return
    const { engine } = phase
    const { modelId } = engine.binding.bound
    const exit = describeExit(facts)
    phase.attempt.cancel()
    this.#core.board.apply('process_died', { message: `the engine ${exit}`, extra: { attempt_id: attemptId } })
    if (phase.kind === 'up') {
      phase.stopWatch()
      this.#core.report.died(engine, phase.readySinceMs)
      this.#core.listener.onCrashed(engineDiedError(this.#core.name, exit))
    } else stopClocks(phase)
    this.#enterStopping(attemptId, () => {})
    const load = phase.kind === 'loading' ? phase : undefined
    void this.#core.deps.effects.explain(engine, facts, load === undefined ? 'up' : 'loading').then(async (failure) => {
      this.#core.post({ type: 'explained', attemptId, failure, load, modelId })
      await engine.process.stop({ graceMs: LEFTOVER_GRACE_MS })
      this.#core.post({ type: 'stopped', attemptId })
    })
  }

  /** Requests that only waited for a place go on with the next load; those that waited for this load get their answer here. */
  explained({ failure, load, modelId }: EngineMessageOf<'explained'>): void {
    const isOvertaken = this.#core.phase.kind === 'stopping' && this.#core.phase.isOvertaken
    const mayRetry = load !== undefined && failure.cause === 'port_in_use'
    if (mayRetry && isOvertaken) return this.#core.report.cancelled(load)
    if (mayRetry && this.#core.tryAnotherPort()) return this.#core.report.cancelled(load, 'slot.port_in_use')
    this.#core.board.refresh({ message: failure.message, extra: { ...this.#core.board.record.extra, failure } })
    if (load === undefined) return this.#core.report.crashed(modelId, failure)
    if (isOvertaken) return this.#core.report.cancelled(load)
    this.#core.report.loadFailed(load, failure)
    this.#core.listener.onLoadFailed(loadFailedError(this.#core.name, failure), modelId)
  }

  endAttempt(phase: PhaseOf<'loading' | 'up'>): void {
    const { attempt, engine } = phase
    if (phase.kind === 'loading') stopClocks(phase)
    else phase.stopWatch()
    attempt.cancel()
    this.#readAhead(phase)
    const { board } = this.#core
    // A daemon that finds it dying must not take it for one that goes on.
    board.refresh({ extra: { ...board.record.extra, stopping: true } })
    this.#enterStopping(attempt.id, engine === undefined ? () => {} : this.#memoryReturns(engine))
    void attempt.spawned.then(async (process) => {
      await process?.stop({ graceMs: this.#core.deps.settings.stopGraceMs })
      this.#core.post({ type: 'stopped', attemptId: attempt.id })
    })
  }

  /** Another model is to follow: what it needs is read while this one ends. */
  #readAhead(phase: PhaseOf<'loading' | 'up'>): void {
    const { deps, name, parts } = this.#core
    const { override } = parts.files
    const runs = phase.kind === 'up' ? phase.engine.binding.bound.modelId : phase.modelId
    this.#core.headStart =
      override === undefined || override.modelId === runs ? undefined : takeHeadStart(deps, name, override)
  }

  /** Only of a process that lives: one that has died has given back what it held. */
  #memoryReturns({ binding, need, process }: StartedEngine): () => void {
    const { config, gpus } = binding.bound
    const stop = this.#core.deps.desk.stopBegins({ slot: this.#core.name, device: config.device, gpus, need })
    void process.exited.then(() => stop.exited?.())
    return () => stop.ended()
  }

  #enterStopping(attemptId: string, onDead: () => void): void {
    const begunMs = this.#core.deps.clock.monotonicMs()
    this.#core.phase = { kind: 'stopping', attemptId, begunMs, onDead, isOvertaken: false }
    this.#core.listener.onEngineGone(attemptId)
  }

  stopped(): void {
    if (this.#core.phase.kind !== 'stopping') return
    const tookMs = this.#core.deps.clock.monotonicMs() - this.#core.phase.begunMs
    this.#core.phase.onDead()
    this.#core.phase = { kind: 'down' }
    const { extra, message } = this.#core.board.record
    const { failure } = extra
    if (this.#core.board.state === 'error')
      this.#core.board.refresh({ extra: failure === undefined ? {} : { failure } })
    else
      this.#core.board.apply('stopped', { message: this.#core.board.state === 'unloading' ? message : '', extra: {} })
    this.#core.deps.log.info({ slot: this.#core.name, tookMs: Math.round(tookMs) }, 'engine stopped')
    this.#core.times.afterStop(tookMs, () => this.#core.listener.onDown())
  }
}

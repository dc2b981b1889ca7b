import { randomUUID } from 'node:crypto'
import type { ContextChoice, LoadPhases } from '../../contract/slot-row.ts'
import type { SanityResult } from '../../contract/slot-state.ts'
import { announce } from '../../events/announce.ts'
import { assertNever } from '../../kernel/result.ts'
import type { EngineMessage } from '../actor/actor-messages.ts'
import { unansweringError } from '../slot-failures.ts'
import { EndingStage } from './ending-stage.ts'
import { usableHeadStart } from './head-start.ts'
import { LifeCore, type LifeParts } from './life-core.ts'
import type { LifeDeps, LifeListener } from './life-ports.ts'
import { adoptAttempt, beginAttempt } from './load-attempt.ts'
import { LoadingStage } from './loading-stage.ts'
import { type Phase, type Try } from './phase.ts'
import type { StartedEngine } from './started-engine.ts'

/**
 * The process of one slot: load, up, end. Belongs to the slot's actor, which alone calls it, one message at a time.
 * Source: SPEC 5.
 */
export class EngineLife {
  readonly #core: LifeCore
  readonly #loading: LoadingStage
  readonly #ending: EndingStage

  constructor(parts: LifeParts, deps: LifeDeps, listener: LifeListener, post: (message: EngineMessage) => void) {
    this.#core = new LifeCore(parts, deps, listener, post)
    this.#ending = new EndingStage(this.#core)
    this.#loading = new LoadingStage(this.#core, this.#ending)
  }

  get phase(): Phase {
    return this.#core.phase
  }

  /** The one that is up. */
  get engine(): StartedEngine | undefined {
    return this.#core.phase.kind === 'up' ? this.#core.phase.engine : undefined
  }

  /** Of the last launch that was prepared. */
  get ctx(): ContextChoice | undefined {
    return this.#core.ctx
  }

  get lastPhases(): LoadPhases | undefined {
    return this.#core.times.last
  }

  /** What a running load may still take, by the last one; may be negative. */
  get remainingLoadMs(): number {
    const phase = this.#core.phase
    return this.#core.times.remainingMs(
      phase.kind === 'loading' ? this.#core.deps.clock.monotonicMs() - phase.begunMs : 0,
    )
  }

  /** Only while down. */
  begin(nth: Try): void {
    this.#core.portRetries.begun()
    this.#core.knownSanity = undefined
    const attemptId = randomUUID()
    this.#core.board.apply('start_begun', { message: '', extra: { attempt_id: attemptId } })
    const { override } = this.#core.parts.files
    const { oldestWaiterMs } = this.#core.parts
    const boundAhead = usableHeadStart(this.#core.headStart, override, this.#core.deps.clock.monotonicMs())
    this.#core.headStart = undefined
    const start = {
      slot: this.#core.name,
      attemptId,
      previousPort: this.#core.board.record.port,
      override,
      oldestWaiterMs,
      boundAhead,
    }
    this.#loading.enter(beginAttempt(this.#core.deps, start, this.#core.post), nth, undefined)
    this.#core.deps.log.info({ slot: this.#core.name, attempt: attemptId, nth }, 'loading')
  }

  /** Takes over an engine that an earlier daemon started; only while down. `known`: what that daemon found of its output. Source: SPEC 4 "Adoption". */
  adopt(engine: StartedEngine, known: SanityResult | undefined): void {
    const { attemptId, binding, process } = engine
    const { plan, launch, bound } = binding
    this.#core.knownSanity = known === 'passed' ? known : undefined
    this.#core.ctx = launch.ctx
    this.#core.parts.files.adopted(bound, launch.thinking)
    this.#core.board.apply('found_warming', {
      message: 'found running; looking at it',
      port: plan.port,
      model_id: bound.modelId || null,
      extra: { attempt_id: attemptId, process: process.ref, ...(known === undefined ? {} : { sanity: known }) },
    })
    this.#loading.enter(adoptAttempt(this.#core.deps, engine, known === 'passed', this.#core.post), 1, engine)
    const { name, deps } = this.#core
    const { pid } = process.ref
    const message = `slot ${name} goes on with the engine that an earlier daemon started (pid ${pid}, port ${plan.port})`
    const data = { slot: name, pid, port: plan.port }
    const event = { type: 'slot.adopted', severity: 'info', source: `slot:${name}`, message, data } as const
    announce(deps, event, { attempt: attemptId })
  }

  /** Ends what loads or is up; the leases are the caller's concern, before. `drainMs`: how long those took; `why`: for the row, also when it is off; '' = somebody asked. Does nothing while down or stopping. */
  stop(drainMs?: number, why = ''): void {
    const phase = this.#core.phase
    if (phase.kind === 'loading') {
      this.#core.board.refresh({ message: 'stopping before it was ready' })
      this.#core.report.cancelled(phase)
    } else if (phase.kind === 'up') {
      this.#core.board.apply('stop_begun', { message: why })
      this.#core.times.drained(drainMs)
    } else return
    this.#ending.endAttempt(phase)
  }

  /** A start is to follow the stop that runs: what is still learnt of this one is no answer to those who wait. */
  overtake(): void {
    if (this.#core.phase.kind === 'stopping') this.#core.phase.isOvertaken = true
  }

  /** Lets go of an engine that is up: it stays alive without us. */
  leave(): void {
    if (this.#core.phase.kind !== 'up') return
    this.#core.phase.attempt.cancel()
    this.#core.phase.stopWatch()
    this.#core.phase = { kind: 'down' }
  }

  /** Messages of a superseded attempt have nothing to say any more. */
  handle(message: EngineMessage): void {
    if (message.attemptId !== this.#attemptId()) return
    const phase = this.#core.phase
    switch (message.type) {
      case 'configured':
        if (phase.kind === 'loading') phase.modelId = message.bound.modelId
        return this.#core.parts.files.configured(message.bound)
      case 'pulling':
      case 'pulled':
      case 'waiting':
      case 'planned':
      case 'admitted':
        return phase.kind === 'loading' ? this.#loading.beforeSpawn(phase, message) : undefined
      case 'spawned':
        return this.#loading.spawned(message)
      case 'probed':
        return this.#loading.probed(message)
      case 'judged':
        return this.#loading.judged(message)
      case 'attempt_failed':
        return this.#loading.attemptFailed(message.error)
      case 'exited':
        return this.#ending.exited(message)
      case 'found_dead':
        return phase.kind === 'up'
          ? this.#ending.foundUseless(phase, unansweringError(this.#core.name, message.reason))
          : undefined
      case 'recovered':
        return phase.kind === 'up' ? this.#core.parts.breaker.forget(phase.engine.binding.bound.modelId) : undefined
      case 'explained':
        return this.#ending.explained(message)
      case 'stopped':
        return this.#ending.stopped()
      case 'verdict_due':
        return this.#core.board.refresh({ message: `no answer yet; still ${this.#core.board.state}` })
      case 'limit_due':
        return this.#loading.limitDue()
      default:
        assertNever(message)
    }
  }

  #attemptId(): string | undefined {
    const phase = this.#core.phase
    if (phase.kind === 'down') return undefined
    return phase.kind === 'stopping' ? phase.attemptId : phase.attempt.id
  }
}

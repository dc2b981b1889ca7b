import type { Hal0Error } from '../../kernel/errors.ts'
import type { Override } from '../launch/read-binding.ts'
import { crashLoopingError } from '../slot-failures.ts'
import type { SlotParts } from './slot-parts.ts'
import type { NextLoad } from './wishes.ts'

/** Who wants a start: only a person's wish resets what counts against it. Source: SPEC 6. */
export type StartedBy = 'person' | 'daemon'

/**
 * The one place where a slot at rest is started: what stands against a start is looked at here, whoever wants it.
 * Belongs to the slot's actor. Source: SPEC 6, 8.
 */
export class StartGate {
  readonly #partsOf: () => SlotParts

  constructor(partsOf: () => SlotParts) {
    this.#partsOf = partsOf
  }

  /** Somebody asked for a load, and waits for it. Only while down. */
  wished(by: StartedBy): void {
    const { board, breaker, deps, files, name, wishes } = this.#partsOf()
    const modelId = this.#modelOf(files.override)
    const decision = breaker.decide(modelId, deps.clock.nowMs())
    // The one trial of a parked slot is for those who need it, not for whoever starts the daemon.
    if (by === 'daemon' && decision.kind === 'start' && decision.isTrial) {
      const { failures } = decision
      const parked = { isParked: true, failures, waitMs: 0 }
      return wishes.load.reject(
        crashLoopingError(name, parked, breaker.reasonOf(modelId) ?? board.record.extra.failure),
      )
    }
    this.#begin({ nth: 1, by })
  }

  /** The load that was to follow a stop, or to be tried once more. What ended meanwhile may have failed, which counts. */
  again(next: NextLoad): void {
    if (!this.#begin(next)) this.#partsOf().waitingRoom.serve()
  }

  /** A person decided: what failed before does not count. */
  forgive(): void {
    const { breaker, files } = this.#partsOf()
    breaker.forget(this.#modelOf(files.override))
  }

  /** Requests wait at a slot that is down. The oldest that has leave decides what is loaded; the others hear why not. */
  requested(): void {
    const { book, files, life } = this.#partsOf()
    for (;;) {
      const [oldest] = book.waiters()
      if (oldest === undefined) return
      // Also where the file was last seen to say the same: it may say something else by now, or nothing that can be read.
      const override = oldest.modelId === undefined ? files.override : { modelId: oldest.modelId }
      const refusal = this.refusalOf(this.#modelOf(override))
      if (refusal === undefined) {
        files.override = override
        return life.begin(1)
      }
      book.rejectAll(refusal, (waiter) => waiter.modelId === oldest.modelId)
    }
  }

  #begin({ nth, by }: NextLoad): boolean {
    const { files, life, wishes } = this.#partsOf()
    if (by === 'person') this.forgive()
    const refusal = this.refusalOf(this.#modelOf(files.override))
    if (refusal === undefined) life.begin(nth)
    else wishes.load.reject(refusal)
    return refusal === undefined
  }

  #modelOf(override: Override | undefined): string {
    return override?.modelId ?? this.#partsOf().files.bound?.modelId ?? ''
  }

  /** What stands against a start of this model that no person asked for; undefined = nothing. */
  refusalOf(modelId: string): Hal0Error | undefined {
    const { board, breaker, deps, name } = this.#partsOf()
    const refusal = deps.startRefusal(name)
    if (refusal !== undefined) return refusal
    const decision = breaker.decide(modelId, deps.clock.nowMs())
    if (decision.kind === 'start') {
      if (decision.isTrial) deps.log.info({ slot: name, model: modelId }, 'the one trial of a parked slot')
      return undefined
    }
    deps.log.debug({ slot: name, model: modelId, ...decision }, 'a start is refused')
    return crashLoopingError(name, decision, breaker.reasonOf(modelId) ?? board.record.extra.failure)
  }
}

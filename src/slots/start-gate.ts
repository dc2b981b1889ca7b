import type { Hal0Error } from '../kernel/errors.ts'
import type { Try } from './phase.ts'
import type { Override } from './read-binding.ts'
import { crashLoopingError } from './slot-failures.ts'
import type { SlotParts } from './slot-parts.ts'

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
    const { deps, files, life, name, wishes } = this.#partsOf()
    if (by === 'person') this.forgive()
    const modelId = this.#modelOf(files.override)
    const refusal = deps.startRefusal(name) ?? this.#refusalOf(modelId)
    if (refusal === undefined) return life.begin(1)
    wishes.load.reject(refusal)
  }

  /** The load that was to follow a stop, or to be tried once more. What a person wants has been forgiven before. */
  again(nth: Try): void {
    const { deps, files, life, name, waitingRoom, wishes } = this.#partsOf()
    const refusal = deps.startRefusal(name) ?? this.#refusalOf(this.#modelOf(files.override))
    if (refusal === undefined) return life.begin(nth)
    wishes.load.reject(refusal)
    waitingRoom.serve()
  }

  /** A person decided: what failed before does not count. */
  forgive(): void {
    const { breaker, files } = this.#partsOf()
    breaker.forget(this.#modelOf(files.override))
  }

  /** Requests wait at a slot that is down. The oldest that has leave decides what is loaded; the others hear why not. */
  requested(): void {
    const { book, deps, files, life, name } = this.#partsOf()
    for (;;) {
      const [oldest] = book.waiters()
      if (oldest === undefined) return
      // Also where the file was last seen to say the same: it may say something else by now, or nothing that can be read.
      const override = oldest.modelId === undefined ? files.override : { modelId: oldest.modelId }
      const refusal = deps.startRefusal(name) ?? this.#refusalOf(this.#modelOf(override))
      if (refusal === undefined) {
        files.override = override
        return life.begin(1)
      }
      book.rejectAll(refusal, (waiter) => waiter.modelId === oldest.modelId)
    }
  }

  #modelOf(override: Override | undefined): string {
    return override?.modelId ?? this.#partsOf().files.bound?.modelId ?? ''
  }

  #refusalOf(modelId: string): Hal0Error | undefined {
    const { board, breaker, deps, name } = this.#partsOf()
    const decision = breaker.decide(modelId, deps.clock.nowMs())
    if (decision.kind === 'start') {
      if (decision.isTrial) deps.log.info({ slot: name, model: modelId }, 'the one trial of a parked slot')
      return undefined
    }
    deps.log.debug({ slot: name, model: modelId, ...decision }, 'a start is refused')
    return crashLoopingError(name, decision, board.record.extra.failure)
  }
}

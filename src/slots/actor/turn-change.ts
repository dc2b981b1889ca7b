import type { Hal0Error } from '../../kernel/errors.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import type { WishOf } from './actor-messages.ts'
import type { WaitingRoom, WaitingRoomParts } from './waiting-room.ts'

/** What a change of turns asks of its actor. */
export interface TurnChangeHost {
  post(message: WishOf<'turn_examined'>): void
  /** What stands against a start of this model now. */
  refusalOf(modelId: string): Hal0Error | undefined
  /** Nobody holds a lease; what runs makes way for this model. */
  onChange(modelId: string): void
}

/**
 * Before an engine makes way for another model: could that one start? A request for a model that cannot be had must cost no working engine.
 * Belongs to the slot's actor. Source: SPEC 2 "A bad file never takes down what runs", 11 "Resolution" 3.
 */
export class TurnChange {
  #isAsking = false
  readonly #parts: WaitingRoomParts
  readonly #deps: ActorDeps
  readonly #host: TurnChangeHost

  constructor(parts: WaitingRoomParts, deps: ActorDeps, host: TurnChangeHost) {
    this.#parts = parts
    this.#deps = deps
    this.#host = host
  }

  /** Nobody holds a lease, and the next one waits for this model. One question at a time: the answer looks at everything afresh. */
  ask(modelId: string): void {
    const { engine } = this.#parts.life
    if (this.#isAsking || engine === undefined) return
    this.#isAsking = true
    void this.#deps.effects.examine(this.#parts.name, { modelId }, engine).then(({ problem }) => {
      this.#host.post({ type: 'turn_examined', attemptId: engine.attemptId, modelId, problem })
    })
  }

  examined({ attemptId, modelId, ...found }: WishOf<'turn_examined'>, waitingRoom: WaitingRoom): void {
    this.#isAsking = false
    const problem = found.problem ?? this.#host.refusalOf(modelId)
    const { book, life } = this.#parts
    const isMeant = life.engine?.attemptId === attemptId
    if (isMeant && problem !== undefined) book.rejectAll(problem, (waiter) => waiter.modelId === modelId)
    const isDue = isMeant && problem === undefined && book.inFlight === 0 && waitingRoom.nextModelId === modelId
    if (isDue) this.#host.onChange(modelId)
    else waitingRoom.serve()
  }
}

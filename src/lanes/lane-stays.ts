import type { Hal0Error } from '../kernel/errors.ts'
import { type Placed, SwapList } from '../kernel/swap-list.ts'
import type { LaneStay } from './lane-door.ts'

/** What the access list says to one user at a moment. */
export type AccessAnswer =
  | { readonly kind: 'serve'; readonly reservationId: string | null }
  | { readonly kind: 'refuse'; readonly error: Hal0Error }

/** What the requests inside a lane ask of it. */
export interface StaysHost {
  ask(userId: string): AccessAnswer
  /** A holder's request is served. */
  used(reservationId: string): void
  /** One has left. */
  left(): void
}

/** The requests inside one lane: those that wait hear when the list says something else, those that are served when they lost access for too long. Source: SPEC 12, 14. */
export class LaneStays {
  readonly #stays = new SwapList<Stay>()
  readonly #host: StaysHost

  constructor(host: StaysHost) {
    this.#host = host
  }

  /** Asks the list, and lets in. */
  enter(userId: string, onEnd: (error: Hal0Error) => void): LaneStay | Hal0Error {
    const answer = this.#host.ask(userId)
    if (answer.kind === 'refuse') return answer.error
    const stay = new Stay(userId, answer.reservationId, onEnd, this.#host, (gone) => this.#stays.delete(gone))
    this.#stays.add(stay)
    return stay
  }

  /**
   * The list may say something else now. Who waits is told at once. Who is served and is shut out (`gpu_reserved`) has `drainMs` from the moment on
   * which that was seen first; what the slot itself ends (a switch) is the slot's business. `monotonicMs`: now, by the clock that no jump disturbs.
   * The answer: in how many ms the next of them is over.
   */
  review(monotonicMs: number, drainMs: number): number | undefined {
    let nextInMs: number | undefined
    for (const stay of this.#stays.all()) {
      const inMs = stay.review(monotonicMs, drainMs)
      if (inMs !== undefined && (nextInMs === undefined || inMs < nextInMs)) nextInMs = inMs
    }
    return nextInMs
  }
}

class Stay implements LaneStay, Placed {
  place = -1
  reservationId: string | null
  readonly #userId: string
  readonly #host: StaysHost
  readonly #onEnd: (error: Hal0Error) => void
  readonly #forget: (stay: Stay) => void
  #isLeased = false
  /** It was told so, or it has left. */
  #isOver = false
  #hasLeft = false
  /** Monotonic ms. */
  #shutOutMs: number | undefined

  constructor(
    userId: string,
    reservationId: string | null,
    onEnd: (error: Hal0Error) => void,
    host: StaysHost,
    forget: (stay: Stay) => void,
  ) {
    this.#userId = userId
    this.reservationId = reservationId
    this.#onEnd = onEnd
    this.#host = host
    this.#forget = forget
  }

  leased(): Hal0Error | undefined {
    const answer = this.#host.ask(this.#userId)
    if (answer.kind === 'refuse') return answer.error
    this.#isLeased = true
    this.reservationId = answer.reservationId
    if (answer.reservationId !== null) this.#host.used(answer.reservationId)
    return undefined
  }

  waits(): void {
    this.#isLeased = false
    this.#shutOutMs = undefined
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#isOver = true
    this.#forget(this)
    this.#host.left()
  }

  review(monotonicMs: number, drainMs: number): number | undefined {
    if (this.#isOver) return undefined
    const answer = this.#host.ask(this.#userId)
    if (!this.#isLeased) {
      if (answer.kind === 'refuse') this.#end(answer.error)
      return undefined
    }
    if (answer.kind === 'serve' || answer.error.code !== 'gpu_reserved') {
      this.#shutOutMs = undefined
      return undefined
    }
    this.#shutOutMs ??= monotonicMs
    const inMs = this.#shutOutMs + drainMs - monotonicMs
    if (inMs > 0) return inMs
    this.#end(answer.error)
    return undefined
  }

  #end(error: Hal0Error): void {
    // Whoever entered leaves; it is told once.
    this.#isOver = true
    this.#forget(this)
    this.#onEnd(error)
  }
}

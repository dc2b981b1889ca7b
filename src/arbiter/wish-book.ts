import type { Hal0Error } from '../kernel/errors.ts'
import { type Deferred, deferred } from '../slots/actor/deferred.ts'
import type { ArbiterMode } from './ports.ts'

/** A person who waits for a mode. */
export interface Wish {
  readonly mode: ArbiterMode
  /** Waits no longer than until then. Monotonic ms. */
  readonly untilMs: number
  readonly answer: Deferred<void>
}

/** People's switches that are not done yet, in order of arrival. The oldest one counts. */
export class WishBook {
  readonly #open = new Set<Wish>()

  get first(): Wish | undefined {
    const [first] = this.#open
    return first
  }

  get all(): readonly Wish[] {
    return [...this.#open]
  }

  has(mode: ArbiterMode): boolean {
    for (const wish of this.#open) if (wish.mode === mode) return true
    return false
  }

  /** Resolves when the mode is on. */
  add(mode: ArbiterMode, untilMs: number): Promise<void> {
    const wish: Wish = { mode, untilMs, answer: deferred<void>() }
    this.#open.add(wish)
    return wish.answer.promise
  }

  fulfil(mode: ArbiterMode): void {
    for (const wish of this.all) {
      if (wish.mode !== mode) continue
      this.#open.delete(wish)
      wish.answer.resolve()
    }
  }

  refuse(wishes: Iterable<Wish>, error: Hal0Error): void {
    for (const wish of wishes) if (this.#open.delete(wish)) wish.answer.reject(error)
  }
}

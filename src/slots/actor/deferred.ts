import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import type { Hal0Error } from '../../kernel/errors.ts'

/** A promise with its handles, for answers that come out of an actor's queue. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(reason: unknown): void
}

export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<T>((ok, no) => {
    resolve = ok
    reject = no
  })
  // A caller that left must not turn a failed load into an unhandled rejection.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}

/** Gives all of them the same answer. */
export function resolveAll<T>(members: Iterable<Deferred<T>>, value: T): void {
  for (const member of members) member.resolve(value)
}

/** Callers that wait for the same outcome. */
export class Audience<T> {
  readonly #members = new Map<Deferred<T>, CancelTimer | undefined>()

  get size(): number {
    return this.#members.size
  }

  join(member: Deferred<T>): void {
    this.#members.set(member, undefined)
  }

  /** From now on each of them waits `limitMs` at most, then leaves with the error; those that are bounded already keep their limit. */
  boundWaits(clock: Clock, limitMs: number, overdue: () => Hal0Error): void {
    for (const [member, bound] of this.#members) {
      if (bound !== undefined) continue
      const cancel = clock.setTimer(limitMs, () => {
        this.#members.delete(member)
        member.reject(overdue())
      })
      this.#members.set(member, cancel)
    }
  }

  /** What they waited for has begun to happen: no limit any more. */
  unboundWaits(): void {
    for (const [member, cancel] of this.#members) {
      cancel?.()
      this.#members.set(member, undefined)
    }
  }

  resolve(value: T): void {
    for (const member of this.#leave()) member.resolve(value)
  }

  reject(reason: Hal0Error): void {
    for (const member of this.#leave()) member.reject(reason)
  }

  #leave(): Deferred<T>[] {
    const members = [...this.#members]
    this.#members.clear()
    for (const [, cancel] of members) cancel?.()
    return members.map(([member]) => member)
  }
}

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

/** Callers that wait for the same outcome. */
export class Audience<T> {
  #members: Deferred<T>[] = []

  get size(): number {
    return this.#members.length
  }

  join(member: Deferred<T>): void {
    this.#members.push(member)
  }

  resolve(value: T): void {
    for (const member of this.#leave()) member.resolve(value)
  }

  reject(reason: unknown): void {
    for (const member of this.#leave()) member.reject(reason)
  }

  #leave(): Deferred<T>[] {
    const members = this.#members
    this.#members = []
    return members
  }
}

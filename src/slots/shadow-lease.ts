import type { Hal0Error } from '../kernel/errors.ts'
import type { EngineRoute } from '../runners/runner.ts'
import type { EngineEndpoint, Lease } from './slots.ts'

/** A lease of the NPU's engine for one of its parts: under the part's name, and for the part's own routes. */
export class ShadowLease implements Lease {
  readonly slot: string
  readonly endpoint: EngineEndpoint
  readonly #lease: Lease
  #onReleased: (() => void) | undefined

  /** `onReleased` is called once. */
  constructor(slot: string, lease: Lease, routes: readonly EngineRoute[], onReleased: () => void) {
    this.slot = slot
    this.endpoint = { ...lease.endpoint, routes, enableThinking: undefined }
    this.#lease = lease
    this.#onReleased = onReleased
  }

  get attemptId(): string {
    return this.#lease.attemptId
  }

  get revokedFor(): Hal0Error | undefined {
    return this.#lease.revokedFor
  }

  get revoked(): AbortSignal {
    return this.#lease.revoked
  }

  onRevoked(listener: ((reason: Hal0Error) => void) | undefined): void {
    this.#lease.onRevoked(listener)
  }

  moved(): void {
    this.#lease.moved()
  }

  release(outcome?: 'answered'): void {
    this.#onReleased?.()
    this.#onReleased = undefined
    this.#lease.release(outcome)
  }
}

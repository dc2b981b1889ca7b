import type { CancelTimer, Clock } from '../../kernel/clock.ts'

/** Looks so often within the limit: silence is seen at most an eighth late. */
const LOOKS_PER_LIMIT = 8

/** Somebody who sends. */
export interface Sender {
  /** Looks since it sent something; whoever hears it sets this to 0. */
  quietLooks: number
  /** It was silent for `limitMs`; it is not watched any more. */
  onSilent(limitMs: number): void
}

/**
 * Ends those who stop in the middle of sending. One timer for all, so that to watch somebody costs next to nothing: most are done before
 * the first look. Source: SPEC 11 "Streaming" (a client that stalls is aborted; its sending is as its taking).
 */
export class ClientSilence {
  readonly #clock: Clock
  readonly #limitMs: () => number
  readonly #senders = new Set<Sender>()
  #cancel: CancelTimer | undefined

  /** `limitMs` 0 = no limit; asked at each look. */
  constructor(clock: Clock, limitMs: () => number) {
    this.#clock = clock
    this.#limitMs = limitMs
  }

  watch(sender: Sender): void {
    sender.quietLooks = 0
    this.#senders.add(sender)
    if (this.#cancel === undefined) this.#arm()
  }

  /** Harmless for somebody who is not watched. */
  forget(sender: Sender): void {
    this.#senders.delete(sender)
  }

  /** No timer is left. */
  close(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#senders.clear()
  }

  #arm(): void {
    const limitMs = this.#limitMs()
    if (limitMs > 0) this.#cancel = this.#clock.setTimer(limitMs / LOOKS_PER_LIMIT, () => this.#look(limitMs))
  }

  #look(limitMs: number): void {
    this.#cancel = undefined
    for (const sender of this.#senders) {
      // The first look may come right after its last byte.
      if (sender.quietLooks++ < LOOKS_PER_LIMIT) continue
      this.#senders.delete(sender)
      sender.onSilent(limitMs)
    }
    if (this.#senders.size > 0 && this.#cancel === undefined) this.#arm()
  }
}

import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { type Placed, SwapList } from '../../kernel/swap-list.ts'

/** Looks so often within the limit: silence is seen at most an eighth late. */
const LOOKS_PER_LIMIT = 8
/** Whoever sends less within the limit counts as silent: a byte now and then would hold memory for ever. */
export const LEAST_SENT_BYTES = 1024

/** Somebody who sends. */
export interface Sender extends Placed {
  /** Looks since it had sent enough; 0 = it begins anew. */
  quietLooks: number
  /** What it sent since then; whoever hears it adds to it. */
  freshBytes: number
  /** It was silent for `limitMs`; it is not watched any more. */
  onSilent(limitMs: number): void
}

/**
 * Ends those who stop in the middle of sending, or send less than `LEAST_SENT_BYTES` within the limit. One timer for all, so that to watch somebody costs next to nothing: most are done before
 * the first look. Source: SPEC 11 "Streaming" (a client that stalls is aborted; its sending is as its taking).
 */
export class ClientSilence {
  readonly #clock: Clock
  readonly #limitMs: () => number
  readonly #senders = new SwapList<Sender>()
  #cancel: CancelTimer | undefined

  /** `limitMs` 0 = no limit; asked at each look. */
  constructor(clock: Clock, limitMs: () => number) {
    this.#clock = clock
    this.#limitMs = limitMs
  }

  /** What is known of it counts on: who forgets a sender through no fault of its own sets `quietLooks` to 0. */
  watch(sender: Sender): void {
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
    for (const sender of this.#senders.all()) {
      if (sender.freshBytes >= LEAST_SENT_BYTES) {
        sender.freshBytes = 0
        sender.quietLooks = 0
      }
      // The first look may come right after its last byte.
      if (sender.quietLooks++ < LOOKS_PER_LIMIT) continue
      this.#senders.delete(sender)
      sender.onSilent(limitMs)
    }
    if (this.#senders.size > 0 && this.#cancel === undefined) this.#arm()
  }
}

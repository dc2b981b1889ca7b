/**
 * Messages, handled one at a time, each to its end. A message that is posted from inside another one is handled after it.
 * A fault in one does not silence the rest: `onFault` is told.
 */
export class Mailbox<Message> {
  readonly #inbox: Message[] = []
  #handling = false
  readonly #handle: (message: Message) => void
  readonly #onFault: (message: Message, cause: unknown) => void

  constructor(handle: (message: Message) => void, onFault: (message: Message, cause: unknown) => void) {
    this.#handle = handle
    this.#onFault = onFault
  }

  post(message: Message): void {
    this.#inbox.push(message)
    if (this.#handling) return
    this.#handling = true
    for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift()) {
      try {
        this.#handle(next)
      } catch (cause) {
        this.#onFault(next, cause)
      }
    }
    this.#handling = false
  }
}

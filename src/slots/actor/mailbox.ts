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
    if (!this.begin()) {
      this.#inbox.push(message)
      return
    }
    this.#one(message)
    this.end()
  }

  /** Takes the place of a message, for work whose caller wants the outcome at once: `end` must follow. False = a message is being handled. */
  begin(): boolean {
    if (this.#handling) return false
    this.#handling = true
    return true
  }

  /** The work of `begin` is done: what was posted meanwhile is handled now. */
  end(): void {
    while (this.#inbox.length > 0) {
      const next = this.#inbox.shift()
      if (next !== undefined) this.#one(next)
    }
    this.#handling = false
  }

  #one(message: Message): void {
    try {
      this.#handle(message)
    } catch (cause) {
      this.#onFault(message, cause)
    }
  }
}

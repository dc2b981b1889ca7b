/** What stands between the engine's bytes and the client's: renames the model, knows how to end early. */
export interface AnswerFilter {
  /** The bytes to send now; empty = none yet. */
  push(chunk: Buffer): Buffer
  /** The engine's answer is complete: what is left to send. */
  end(): Buffer
}

/** The same for an event stream. */
export interface EventFilter extends AnswerFilter {
  /**
   * From now on whole lines need no look: `push` would give them back as they are. True only between lines, and for good: the engine has shown
   * that it uses the asked name itself, and there is nothing to drop.
   */
  readonly isPassive: boolean
  /** Did the engine say that its answer is complete? A clean end of the connection alone does not. `tail`: the last 2 KiB or less that were sent; lines of HTTP chunking may stand between its lines. */
  isComplete(tail: Buffer): boolean
  /** Is its very last event among what was sent? More than `isComplete`: nothing can follow, so it does not matter how the connection ended. `tail`: as there. */
  hasLastEvent(tail: Buffer): boolean
  /** `rest` came from `end` and is sent now: with what it takes for the client to read the last event, where the engine has not ended that. */
  finished(rest: Buffer): Buffer
  /** The first event, at most 1 KiB of it; empty where the dialect tells no usage there. */
  readonly head: Buffer
  /** Lines that passed without `push`, while it was passive: nothing is changed, only what `errorEvent` has to know. */
  passed(lines: Buffer): void
  /** A last event for a stream that breaks off: readable also when the engine stopped in the middle of an event. `error`: the dialect's body. */
  errorEvent(error: object): Buffer
}

export const NOTHING: Buffer = Buffer.alloc(0)

/** Everything as it comes. */
export const untouched: AnswerFilter = { push: (chunk) => chunk, end: () => NOTHING }

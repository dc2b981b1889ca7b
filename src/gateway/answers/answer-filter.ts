/** What stands between the engine's bytes and the client's: renames the model, knows how to end early. */
export interface AnswerFilter {
  /** The bytes to send now; empty = none yet. */
  push(chunk: Buffer): Buffer
  /** The engine's answer is complete: what is left to send. */
  end(): Buffer
}

export const NOTHING: Buffer = Buffer.alloc(0)

/** Everything as it comes. */
export const untouched: AnswerFilter = { push: (chunk) => chunk, end: () => NOTHING }

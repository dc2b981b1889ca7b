/**
 * One step at a time over a context, first come first served. node-llama-cpp decodes several sequences in one batch, but samples each of
 * them beside the next batch: a sequence may then be given the logits of another one, and answers mix. With turns every request still
 * moves on token by token beside the others; what is lost is the batch.
 */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `step` when every step that asked before has ended, however it ended. */
  take<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => undefined)
    return result
  }
}

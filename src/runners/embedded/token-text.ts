import type { LlamaModel, Token } from 'node-llama-cpp'

/** A character of four bytes may be spread over four tokens, and the first may begin with the end of a word. */
const LONGEST_SPLIT_TOKENS = 4
/** Enough for the tokenizer to see that a token does not begin the text. */
const CONTEXT_TOKENS = 3
const REPLACEMENT = '\uFFFD'

/** Turns generated tokens into text, holding back bytes until their character is complete. */
export class TokenText {
  readonly #model: LlamaModel
  #before: readonly Token[]
  #pending: Token[] = []

  constructor(model: LlamaModel, prompt: readonly Token[]) {
    this.#model = model
    this.#before = prompt.slice(-CONTEXT_TOKENS)
  }

  push(token: Token): string {
    this.#pending.push(token)
    const text = this.#model.detokenize(this.#pending, false, this.#before)
    // A real U+FFFD ends the same way: it goes out with one of the next tokens.
    if (text.endsWith(REPLACEMENT) && this.#pending.length < LONGEST_SPLIT_TOKENS) return ''
    this.#settle()
    return text
  }

  /** What is left when generation ended: a character that never became complete. */
  end(): string {
    if (this.#pending.length === 0) return ''
    const text = this.#model.detokenize(this.#pending, false, this.#before)
    this.#settle()
    return text
  }

  #settle(): void {
    this.#before = [...this.#before, ...this.#pending].slice(-CONTEXT_TOKENS)
    this.#pending = []
  }
}

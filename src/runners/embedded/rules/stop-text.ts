/** Text that may go out now, and whether a stop text ended it. */
export interface StopStep {
  readonly text: string
  readonly stoppedBy: string | undefined
}

/**
 * Cuts a stream of text at the first stop text. What could be the beginning of one is held until the next step decides.
 * The stop text itself never goes out.
 */
export class StopTextFilter {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops
  }

  push(piece: string): StopStep {
    const text = this.#held + piece
    const found = firstStop(text, this.#stops)
    if (found !== undefined) {
      this.#held = ''
      return { text: text.slice(0, found.at), stoppedBy: found.stop }
    }
    const keep = longestOverlap(text, this.#stops)
    this.#held = text.slice(text.length - keep)
    return { text: text.slice(0, text.length - keep), stoppedBy: undefined }
  }

  /** The end of the stream: what was held was no stop text after all. */
  end(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }
}

function firstStop(text: string, stops: readonly string[]): { readonly at: number; readonly stop: string } | undefined {
  let first: { readonly at: number; readonly stop: string } | undefined
  for (const stop of stops) {
    const at = text.indexOf(stop)
    if (at !== -1 && (first === undefined || at < first.at)) first = { at, stop }
  }
  return first
}

/** Length of the longest end of `text` that begins a stop text. */
function longestOverlap(text: string, stops: readonly string[]): number {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length
    }
  }
  return longest
}

import type { ApiDialect } from '../../contract/api-dialect.ts'
import type { TokenUsage } from '../../contract/request-record.ts'
import { findValue } from './find-value.ts'
import { asciiBytes, type ByteRange, isDigit, LBRACE, LF, skipSpaces, standsAt, ZERO } from './json-bytes.ts'
import { type BackField, eachObjectBack, isKey } from './scan-back.ts'

const USAGE = asciiBytes('usage')
const TIMINGS = asciiBytes('timings')
const RESPONSE = asciiBytes('response')
const MESSAGE = asciiBytes('message')
const DATA = asciiBytes('data:')

const KEYS = {
  prompt: asciiBytes('prompt_tokens'),
  completion: asciiBytes('completion_tokens'),
  input: asciiBytes('input_tokens'),
  output: asciiBytes('output_tokens'),
  promptDetails: asciiBytes('prompt_tokens_details'),
  inputDetails: asciiBytes('input_tokens_details'),
  cached: asciiBytes('cached_tokens'),
  cacheRead: asciiBytes('cache_read_input_tokens'),
  cacheWritten: asciiBytes('cache_creation_input_tokens'),
  promptN: asciiBytes('prompt_n'),
  cacheN: asciiBytes('cache_n'),
  predictedN: asciiBytes('predicted_n'),
} as const
/** No engine counts that far; what fits is exact. */
const MAX_DIGITS = 15

/**
 * How many tokens did the engine count? Read from its own `usage`, else from llama-server's `timings`, in what was kept of its answer. `tail`: the last bytes
 * of a JSON body or an event stream; it begins in the middle of anything, and lines of HTTP chunking may stand between its lines. `head`: how the answer
 * began, or an event that the client did not get (`EventFilter.head`); it may be cut off. The tail is believed before the head. What looks like usage in the model's
 * text, in arguments of a tool or in an echo of the request is not believed. Null = the engine did not say; never guessed. Source: SPEC 11 "Usage".
 */
export function readUsage(dialect: ApiDialect, head: Uint8Array, tail: Uint8Array): TokenUsage | null {
  const late = usageOfTail(dialect, tail)
  const isWhole = late !== undefined && late.promptTokens !== null && late.completionTokens !== null
  const early = isWhole ? undefined : usageOfHead(dialect, head)
  const usage: TokenUsage = {
    promptTokens: late?.promptTokens ?? early?.promptTokens ?? null,
    completionTokens: late?.completionTokens ?? early?.completionTokens ?? null,
    cachedTokens: late?.cachedTokens ?? early?.cachedTokens ?? null,
  }
  const saysNothing = usage.promptTokens === null && usage.completionTokens === null && usage.cachedTokens === null
  return saysNothing ? null : usage
}

/** Of the last event, or the body, that tells any. */
function usageOfTail(dialect: ApiDialect, tail: Uint8Array): TokenUsage | undefined {
  let found: TokenUsage | undefined
  let seen = new SeenFields(dialect, tail)
  eachObjectBack(
    tail,
    (field) => seen.visit(field),
    (way) => {
      if (way.kind !== 'broken') found = seen.usage(way.kind === 'cut')
      seen = new SeenFields(dialect, tail)
      return found !== undefined
    },
  )
  return found
}

/** The fields of one object that may tell of tokens. */
class SeenFields {
  readonly #dialect: ApiDialect
  readonly #text: Uint8Array
  #usage: BackField | undefined
  #timings: BackField | undefined
  /** Of an object within the event; it counts when that is the `response`. */
  #inner: BackField | undefined

  constructor(dialect: ApiDialect, text: Uint8Array) {
    this.#dialect = dialect
    this.#text = text
  }

  visit(field: BackField): void {
    if (field.depth === 2 && this.#dialect === 'responses' && isKey(this.#text, field, USAGE)) this.#inner ??= field
    if (field.depth !== 1) return
    if (isKey(this.#text, field, USAGE)) this.#usage ??= field
    else if (isKey(this.#text, field, TIMINGS)) this.#timings ??= field
    // What is in a value is met before its key.
    if (this.#inner === undefined || this.#inner.valueEnd > field.valueEnd) return
    if (isKey(this.#text, field, RESPONSE)) this.#usage ??= this.#inner
    this.#inner = undefined
  }

  /** `isCut`: a long response hides its own key; no other object so near the end of an event has usage. */
  usage(isCut: boolean): TokenUsage | undefined {
    const field = this.#usage ?? (isCut ? this.#inner : undefined)
    const told = field === undefined ? undefined : ofUsage(this.#dialect, this.#text, rangeOf(field))
    const timed = this.#timings === undefined ? undefined : ofTimings(this.#text, rangeOf(this.#timings))
    if (told === undefined) return timed
    return {
      promptTokens: told.promptTokens ?? timed?.promptTokens ?? null,
      completionTokens: told.completionTokens ?? timed?.completionTokens ?? null,
      cachedTokens: told.cachedTokens ?? timed?.cachedTokens ?? null,
    }
  }
}

function rangeOf({ valueStart, valueEnd }: BackField): ByteRange {
  return { start: valueStart, end: valueEnd }
}

function usageOfHead(dialect: ApiDialect, head: Uint8Array): TokenUsage | undefined {
  if (head[skipSpaces(head, 0, head.length)] === LBRACE) return usageIn(dialect, head, 0, head.length)
  let at = 0
  while (at < head.length) {
    const lf = head.indexOf(LF, at)
    const end = lf < 0 ? head.length : lf
    if (standsAt(head, at, DATA)) {
      const told = usageIn(dialect, head, at + DATA.length, end)
      if (told !== undefined) return told
    }
    at = end + 1
  }
  return undefined
}

/** Of an object that begins at `from` and may be cut off at `end`. */
function usageIn(dialect: ApiDialect, text: Uint8Array, from: number, end: number): TokenUsage | undefined {
  const own = findValue(text, from, end, USAGE)
  const told = own === undefined ? undefined : ofUsage(dialect, text, own)
  if (told !== undefined || dialect === 'openai') return told
  const holder = findValue(text, from, end, dialect === 'anthropic' ? MESSAGE : RESPONSE, true)
  const inner = holder === undefined ? undefined : findValue(text, holder.start, holder.end, USAGE)
  return inner === undefined ? undefined : ofUsage(dialect, text, inner)
}

/** Undefined = it tells nothing (`null`, another shape). */
function ofUsage(dialect: ApiDialect, text: Uint8Array, range: ByteRange): TokenUsage | undefined {
  const completionTokens = count(text, range, KEYS.completion) ?? count(text, range, KEYS.output)
  const fromCache = count(text, range, KEYS.cacheRead)
  const cachedTokens = countIn(text, range, KEYS.promptDetails) ?? countIn(text, range, KEYS.inputDetails) ?? fromCache
  const inputTokens = count(text, range, KEYS.input)
  // Anthropic counts what came from the cache, and what went into it, beside the input.
  const besideTokens = dialect === 'anthropic' ? (fromCache ?? 0) + (count(text, range, KEYS.cacheWritten) ?? 0) : 0
  const promptTokens = count(text, range, KEYS.prompt) ?? (inputTokens === null ? null : inputTokens + besideTokens)
  return ifAny({ promptTokens, completionTokens, cachedTokens })
}

/** llama-server: `prompt_n` is what it computed, `cache_n` what it found. */
function ofTimings(text: Uint8Array, range: ByteRange): TokenUsage | undefined {
  const cachedTokens = count(text, range, KEYS.cacheN)
  const computedTokens = count(text, range, KEYS.promptN)
  const promptTokens = computedTokens === null || cachedTokens === null ? null : computedTokens + cachedTokens
  return ifAny({ promptTokens, completionTokens: count(text, range, KEYS.predictedN), cachedTokens })
}

function ifAny(usage: TokenUsage): TokenUsage | undefined {
  const { promptTokens, completionTokens, cachedTokens } = usage
  return promptTokens === null && completionTokens === null && cachedTokens === null ? undefined : usage
}

/** `cached_tokens` of an object within the object at `range`. */
function countIn(text: Uint8Array, { start, end }: ByteRange, holder: Uint8Array): number | null {
  const inner = findValue(text, start, end, holder)
  return inner === undefined ? null : count(text, inner, KEYS.cached)
}

/** A whole number that the object at `range` holds under a key; null = none, or something else. */
function count(text: Uint8Array, { start, end }: ByteRange, key: Uint8Array): number | null {
  const value = findValue(text, start, end, key)
  if (value === undefined || value.end - value.start > MAX_DIGITS) return null
  let found = 0
  for (let at = value.start; at < value.end; at++) {
    const byte = text[at] ?? 0
    if (!isDigit(byte)) return null
    found = found * 10 + byte - ZERO
  }
  return found
}

import { parseJson } from '../../kernel/read-json.ts'
import { shortText } from '../../kernel/short-text.ts'

/** What an engine says of an error of its own. */
export interface EngineSaid {
  /** In its own words; undefined = it said nothing. */
  readonly message?: string
  /** Its own word for the kind of error. */
  readonly type?: string
  /** The field of the request that it speaks of. */
  readonly param?: string
  /** Its error object; a text where it is none. */
  readonly original: unknown
}

const MAX_MESSAGE_CHARS = 2_000
const MAX_WORD_CHARS = 100
/** Longest body of an error that is passed on as text, where it is no JSON. */
const MAX_TEXT_CHARS = 500

/**
 * What does an engine's error body say? Known are OpenAI's shape, Anthropic's (with the same `error`), FastAPI's `detail`, a bare `message`, and a text.
 * Source: SPEC 16 "Error body everywhere".
 */
export function readEngineSaid(body: string): EngineSaid {
  const parsed = parseJson(body)
  if (!isRecord(parsed)) {
    const text = shortText(body.trim(), MAX_TEXT_CHARS)
    return { original: text, ...(text === '' ? {} : { message: text }) }
  }
  const inner = parsed['error']
  const source = isRecord(inner) ? inner : parsed
  const message = [source['message'], inner, parsed['detail']].find(isText)
  const { type, param } = source
  return {
    original: source,
    ...(message === undefined ? {} : { message: shortText(message, MAX_MESSAGE_CHARS) }),
    ...(isText(type) ? { type: shortText(type, MAX_WORD_CHARS) } : {}),
    ...(isText(param) ? { param: shortText(param, MAX_WORD_CHARS) } : {}),
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The head of an engine's answer, as it came. */
export interface AnswerHead {
  readonly status: number
  /** Names in lower case and values in turn, in order, repeated ones repeated. */
  readonly lines: readonly string[]
  /** How the body ends. */
  readonly framing: Framing
  /** First value of each; undefined = there is none. */
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** The engine says that the connection has a future. */
  readonly keepsAlive: boolean
  /** How long the engine promises to keep it unused (`Keep-Alive: timeout`), seconds; undefined = it does not say. */
  readonly keepsForS: number | undefined
}

/** `none`: there is no body. `close`: it ends with the connection. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'close' }

/** Longest head that is read; more is no answer of an engine. */
export const HEAD_LIMIT_BYTES = 64 * 1024

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?$/
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const KEEPS_FOR = /(?:^|[,\s])timeout\s*=\s*(\d{1,6})\b/i
const NONE: Framing = { kind: 'none' }
const CHUNKED: Framing = { kind: 'chunked' }
const CLOSE: Framing = { kind: 'close' }

/** Names that were read before, by their spelling: engines send the same ones each time. */
const knownNames = new Map<string, string>()
const MAX_KNOWN_NAMES = 512

/** First value of a header; undefined = it has none. `name` in lower case. */
export function valueOf(lines: readonly string[], name: string): string | undefined {
  for (let at = 0; at < lines.length; at += 2) if (lines[at] === name) return lines[at + 1]
  return undefined
}

/** Heads that were read before: engines say the same again and again. */
const knownHeads = new Map<string, AnswerHead>()
const MAX_KNOWN_HEADS = 256
const MAX_KNOWN_HEAD_CHARS = 1024

/** As `parseHead`, for the way of a request: the same object for the same text. */
export function headOf(text: string, asked: string): AnswerHead | string {
  if (asked === 'HEAD' || text.length > MAX_KNOWN_HEAD_CHARS) return parseHead(text, asked)
  const known = knownHeads.get(text)
  if (known !== undefined) return known
  const head = parseHead(text, asked)
  if (typeof head === 'string') return head
  if (knownHeads.size >= MAX_KNOWN_HEADS) knownHeads.clear()
  knownHeads.set(text, head)
  return head
}

/**
 * Reads a head (without the empty line at its end). What could be read in two ways is refused, since the next answer on the
 * connection begins where this one is taken to end: folded lines, bare line feeds, two lengths, unknown codings. `asked`: the
 * method of the request. The text = the fault. Source: RFC 9112 sections 4 to 6.
 */
export function parseHead(text: string, asked: string): AnswerHead | string {
  let end = text.indexOf('\r\n')
  if (end < 0) end = text.length
  const match = STATUS_LINE.exec(text.slice(0, end))
  if (match === null) return 'an answer that does not begin as HTTP'
  const status = Number(match[2])
  let keepsAlive = match[1] === '1'
  const lines: string[] = []
  let length: string | undefined
  let coding: string | undefined
  while (end < text.length) {
    const start = end + 2
    end = text.indexOf('\r\n', start)
    if (end < 0) end = text.length
    const colon = text.indexOf(':', start)
    const name = colon > start && colon < end ? nameOf(text.slice(start, colon)) : undefined
    if (name === undefined) return 'a header that is none'
    const value = text.slice(colon + 1, end).trim()
    if (value.includes('\n') || value.includes('\r')) return 'a header with a bare line break'
    lines.push(name, value)
    if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value))
        return 'a Content-Length that is none'
      length = value
    } else if (name === 'transfer-encoding') coding = coding === undefined ? value : `${coding}, ${value}`
    else if (name === 'connection') {
      if (/\bclose\b/i.test(value)) keepsAlive = false
      else if (/\bkeep-alive\b/i.test(value)) keepsAlive = true
    }
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return `the transfer coding ${coding}`
  // Both: the coding counts, and such a connection has no future.
  if (coding !== undefined && length !== undefined) keepsAlive = false
  const framing = framingOf(status, asked, coding, length)
  return {
    status,
    lines,
    framing,
    contentType: valueOf(lines, 'content-type'),
    contentEncoding: valueOf(lines, 'content-encoding'),
    keepsAlive: keepsAlive && framing.kind !== 'close',
    keepsForS: keepsForOf(valueOf(lines, 'keep-alive')),
  }
}

function framingOf(status: number, asked: string, coding: string | undefined, length: string | undefined): Framing {
  if (status < 200 || status === 204 || status === 304 || asked === 'HEAD') return NONE
  if (coding !== undefined) return CHUNKED
  return length === undefined ? CLOSE : { kind: 'length', bytes: Number(length) }
}

function keepsForOf(keepAlive: string | undefined): number | undefined {
  const seconds = keepAlive === undefined ? undefined : KEEPS_FOR.exec(keepAlive)?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}

function nameOf(spelling: string): string | undefined {
  const known = knownNames.get(spelling)
  if (known !== undefined) return known
  if (!NAME.test(spelling)) return undefined
  const name = spelling.toLowerCase()
  if (knownNames.size < MAX_KNOWN_NAMES) knownNames.set(spelling, name)
  return name
}

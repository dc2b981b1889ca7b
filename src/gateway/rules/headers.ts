import { holdsKey } from '../../kernel/mask-keys.ts'
import { isCredentialHeader } from './credential-names.ts'

/** Header names and values in turn, as they came: `[name, value, name, value, …]`. Repeated ones are repeated. */
export type HeaderLines = readonly string[]

/** Meant for one connection only (RFC 9110 section 7.6.1), `keep-alive` and `proxy-connection` by custom. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Not for the engine: recomputed, or where the client comes from. */
const NOT_FORWARDED = new Set([
  'host',
  'content-length',
  'forwarded',
  'via',
  'x-real-ip',
  'origin',
  'referer',
  // Answered here: the engine gets the body in any case.
  'expect',
  'x-request-id',
])
const NOT_FORWARDED_PREFIXES = ['proxy-', 'x-forwarded-', 'x-hal0-', 'sec-', 'access-control-']

/** What becomes of a request's header on its way to the engine. */
type Fate = 'kept' | 'dropped' | 'connection' | 'content_type' | 'accept_encoding' | 'set_cookie'

function fateOf(name: string): Fate {
  if (name === 'connection') return 'connection'
  if (name === 'content-type') return 'content_type'
  if (name === 'accept-encoding') return 'accept_encoding'
  if (HOP_BY_HOP.has(name) || NOT_FORWARDED.has(name)) return 'dropped'
  // The engine gets its own key and no other. Source: SPEC 11, 14.
  if (isCredentialHeader(name)) return 'dropped'
  return NOT_FORWARDED_PREFIXES.some((prefix) => name.startsWith(prefix)) ? 'dropped' : 'kept'
}

/** Clients send the same few names for ever; a stranger must not fill the memory with others. */
const MAX_REMEMBERED = 1024

/** Answers for names, in any spelling, that were asked before. */
function remembered<T>(decide: (name: string) => T): (spelling: string) => T {
  const known = new Map<string, T>()
  return (spelling) => {
    const before = known.get(spelling)
    if (before !== undefined) return before
    const answer = decide(spelling.toLowerCase())
    if (known.size < MAX_REMEMBERED) known.set(spelling, answer)
    return answer
  }
}

const requestFateOf = remembered(fateOf)

/** What the gateway adds on the way to the engine. */
export interface EngineIdentity {
  readonly engineKey: string | undefined
  readonly requestId: string
  /** `json`: the body has been found to be JSON, whatever the client called it; some engines insist on the name. */
  readonly contentType: 'json' | 'as_sent'
  /** Nobody looks into the answer: it may be encoded as the client likes. Any other could not be looked into, and gains nothing on loopback. */
  readonly isRaw?: true
}

/** The headers an engine gets: the client's, less what is not its business. Source: SPEC 11 "Retries", SPEC 5 "Engine key". */
export function engineRequestHeaders(client: HeaderLines, identity: EngineIdentity): string[] {
  const kept: string[] = []
  let named: ReadonlySet<string> | undefined
  let contentType = identity.contentType === 'json' ? 'application/json' : undefined
  for (let at = 0; at < client.length; at += 2) {
    const name = client[at] ?? ''
    const value = client[at + 1] ?? ''
    const fate = holdsKey(value) ? 'dropped' : requestFateOf(name)
    if (fate === 'kept') kept.push(name, value)
    else if (fate === 'accept_encoding') {
      if (identity.isRaw === true) kept.push(name, value)
    } else if (fate === 'connection') named = namedByConnection(named, value)
    else if (fate === 'content_type' && (identity.contentType === 'as_sent' || isJsonName(value))) contentType = value
  }
  if (named !== undefined) dropNamed(kept, named)
  if (contentType !== undefined) kept.push('content-type', contentType)
  kept.push('x-request-id', identity.requestId)
  if (identity.engineKey !== undefined) kept.push('authorization', `Bearer ${identity.engineKey}`)
  return kept
}

/** What stands in `Connection` is meant for this connection alone. The usual two words name nothing. */
function namedByConnection(before: ReadonlySet<string> | undefined, value: string): ReadonlySet<string> | undefined {
  if (value === 'keep-alive' || value === 'close' || value === '') return before
  const names = value.split(',').map((name) => name.trim().toLowerCase())
  return new Set([...(before ?? []), ...names])
}

function dropNamed(lines: string[], named: ReadonlySet<string>): void {
  for (let at = lines.length - 2; at >= 0; at -= 2) {
    if (named.has((lines[at] ?? '').toLowerCase())) lines.splice(at, 2)
  }
}

const answerFateOf = remembered((name): Fate => {
  if (name === 'connection') return 'connection'
  if (name === 'set-cookie') return 'set_cookie'
  // The length is the writer's decision; the id is ours; CORS is answered here, once.
  const isOurs = name === 'content-length' || name === 'x-request-id' || name.startsWith('access-control-')
  return isOurs || HOP_BY_HOP.has(name) ? 'dropped' : 'kept'
})

const OWN_COOKIE = /^\s*(?:__\w+-)?hal0_/i

/** The headers of an engine's answer that reach the client. `taken`: names in lower case that hal0 says itself. Source: SPEC 11. */
export function clientResponseHeaders(engine: HeaderLines, taken?: ReadonlySet<string>): string[] {
  const kept: string[] = []
  let named: ReadonlySet<string> | undefined
  for (let at = 0; at < engine.length; at += 2) {
    const name = engine[at] ?? ''
    const value = engine[at + 1] ?? ''
    const fate = answerFateOf(name)
    if (fate === 'connection') named = namedByConnection(named, value)
    // An engine must not sign anybody in or out here.
    else if (fate === 'set_cookie' && OWN_COOKIE.test(value)) continue
    // A byte that node refuses to send must not cost the answer.
    else if (fate !== 'dropped' && taken?.has(name) !== true && !/[^\t\x20-\x7e\x80-\xff]/.test(value))
      kept.push(name, value)
  }
  if (named !== undefined) dropNamed(kept, named)
  return kept
}

/** The client's own id when it is fit for a log and a header, else undefined. */
export function validRequestId(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== 'string' || holdsKey(header)) return undefined
  return /^[\w.:~@/+=-]{1,128}$/.test(header) ? header : undefined
}

/** Is this an event stream? */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType !== undefined && /^\s*text\/event-stream\s*(;|$)/i.test(contentType)
}

/** Is this plain JSON? */
export function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^\s*application\/json\s*(;|$)/i.test(contentType)
}

function isJsonName(contentType: string): boolean {
  return contentType === 'application/json' || /\bjson\b/i.test(contentType)
}

/** Headers by lower-case name, as node and undici give them. */
export type HeaderBag = Readonly<Record<string, string | readonly string[] | undefined>>

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
  // An encoded answer could not be looked into, and gains nothing on loopback.
  'accept-encoding',
  // Answered here: the body has been read when the engine is asked.
  'expect',
  'x-request-id',
])
/** A client's credentials under any name, `_` read as `-`: the engine gets its own key and no other. Source: SPEC 11, 14. */
const CREDENTIAL =
  /api-?key|token|secret|passw(?:or)?d|authori[sz]ation|authentication|credential|cookie|(?:^|-)auth(?:-|$)/

function isCredential(name: string): boolean {
  return CREDENTIAL.test(name.replaceAll('_', '-'))
}

const NOT_FORWARDED_PREFIXES = ['proxy-', 'x-forwarded-', 'x-hal0-', 'sec-', 'access-control-']

/** What the gateway adds on the way to the engine. */
export interface EngineIdentity {
  readonly engineKey: string | undefined
  readonly requestId: string
}

/** The headers an engine gets: the client's, less what is not its business. Source: SPEC 11 "Retries", SPEC 5 "Engine key". */
export function engineRequestHeaders(client: HeaderBag, identity: EngineIdentity): Record<string, string | string[]> {
  const named = namedByConnection(client)
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(client)) {
    if (value === undefined || HOP_BY_HOP.has(name) || named.has(name) || NOT_FORWARDED.has(name)) continue
    if (isCredential(name) || NOT_FORWARDED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    kept[name] = typeof value === 'string' ? value : [...value]
  }
  // The body has been found to be JSON, whatever the client called it; some engines insist on the name.
  if (!/\bjson\b/i.test(String(kept['content-type'] ?? ''))) kept['content-type'] = 'application/json'
  kept['x-request-id'] = identity.requestId
  if (identity.engineKey !== undefined) kept['authorization'] = `Bearer ${identity.engineKey}`
  return kept
}

/** The headers of an engine's answer that reach the client; `content-length` is the caller's decision. Source: SPEC 11. */
export function clientResponseHeaders(engine: HeaderBag): Record<string, string | string[]> {
  const named = namedByConnection(engine)
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(engine)) {
    if (value === undefined || HOP_BY_HOP.has(name) || named.has(name)) continue
    if (name === 'content-length' || name === 'x-request-id' || name.startsWith('access-control-')) continue
    // A byte that node refuses to send must not cost the answer.
    if ([value].flat().some((text) => /[^\t\x20-\x7e\x80-\xff]/.test(text))) continue
    kept[name] = typeof value === 'string' ? value : [...value]
  }
  return kept
}

/** The client's own id when it is fit for a log and a header, else undefined. */
export function validRequestId(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:~@/+=-]{1,128}$/.test(header) ? header : undefined
}

/** Is this an event stream? */
export function isEventStream(contentType: unknown): boolean {
  return typeof contentType === 'string' && /^\s*text\/event-stream\s*(;|$)/i.test(contentType)
}

/** Is this plain JSON? */
export function isJson(contentType: unknown): boolean {
  return typeof contentType === 'string' && /^\s*application\/json\s*(;|$)/i.test(contentType)
}

function namedByConnection(headers: HeaderBag): ReadonlySet<string> {
  const names = [headers['connection'] ?? []].flat().flatMap((value) => value.split(','))
  return new Set(names.map((name) => name.trim().toLowerCase()))
}

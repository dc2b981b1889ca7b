import { queryWithoutKey } from './match-route.ts'

/** A request that is passed through to an engine. */
export interface UpstreamAsk {
  /** Path and query for the engine: as the client wrote them, less its key. */
  readonly path: string
  /** It only looks at the engine: such a request loads nothing. */
  readonly isLook: boolean
}

/** What monitoring asks again and again: the engines' own pages about themselves. */
const LOOKS: ReadonlySet<string> = new Set([
  '/health',
  '/healthz',
  '/ping',
  '/version',
  '/metrics',
  '/models',
  '/v1/health',
  '/v1/models',
  '/props',
  '/slots',
  '/load',
  '/get_model_info',
  '/get_server_info',
  '/system_stats',
  '/queue',
])

/** What does the engine get of a request target behind `/upstream/<slot>`? `rest` begins with `/`. Source: SPEC 11, CASES 9, 11. */
export function readUpstream(method: string, rest: string): UpstreamAsk {
  const at = rest.indexOf('?')
  const path = at < 0 ? rest : rest.slice(0, at)
  const isRead = method === 'GET' || method === 'HEAD'
  return { path: at < 0 ? rest : path + queryWithoutKey(rest), isLook: isRead && LOOKS.has(path) }
}

/** Does the client want to leave HTTP? Offers of HTTP/2 may be passed over. */
export function wantsWebSocket(upgrade: string | undefined): boolean {
  return upgrade !== undefined && /\bwebsocket\b/i.test(upgrade)
}

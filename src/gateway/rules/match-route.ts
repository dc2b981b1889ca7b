import type { SlotType } from '../../contract/slot-row.ts'
import { holdsKey } from '../../kernel/mask-keys.ts'
import { isCredentialParameter } from './credential-names.ts'
import { IMAGES_PATH, INFERENCE_ROUTES, type InferenceRoute, inferenceRouteOf } from './route-table.ts'

/** A request to /v1 or /upstream, understood as far as method and path go. */
export type RouteMatch =
  | { readonly kind: 'models' }
  | { readonly kind: 'model'; readonly id: string }
  /** Goes to an engine, under the engine's own path for it. */
  | { readonly kind: 'inference'; readonly route: InferenceRoute }
  /** `POST /v1/images/generations`. */
  | { readonly kind: 'images' }
  /** `slot`: a name or alias, decoded. `rest`: path and query behind it, byte for byte; begins with `/`. */
  | { readonly kind: 'upstream'; readonly slot: string; readonly rest: string }
  | { readonly kind: 'preflight' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'bad_path' }
  | { readonly kind: 'wrong_method'; readonly allow: string }

const READ = 'GET, HEAD, OPTIONS'
const WRITE = 'POST, OPTIONS'

const MODELS: RouteMatch = { kind: 'models' }
const UNKNOWN: RouteMatch = { kind: 'unknown' }
const BAD_PATH: RouteMatch = { kind: 'bad_path' }
const READS_ONLY: RouteMatch = { kind: 'wrong_method', allow: READ }
const WRITES_ONLY: RouteMatch = { kind: 'wrong_method', allow: WRITE }

/** What POST requests to a bare path mean: one look-up on the way of every request. */
const POSTS: ReadonlyMap<string, RouteMatch> = new Map<string, RouteMatch>([
  ...INFERENCE_ROUTES.map((route): [string, RouteMatch] => [route.path, { kind: 'inference', route }]),
  [IMAGES_PATH, { kind: 'images' }],
])

const ONE_MODEL = '/v1/models/'
const UPSTREAM = '/upstream/'

/** Every path below the gateway's root that has a route, for messages. Source: SPEC 11. */
export const KNOWN_PATHS: readonly string[] = [
  '/v1/models',
  ...INFERENCE_ROUTES.map(({ path }) => path),
  IMAGES_PATH,
  '/upstream/SLOT/…',
]

/** The type of slot that can answer requests to this path (without query); `llm` for any that has no type of its own. Source: SPEC 11 "Resolution" 4. */
export function slotTypeFor(path: string): SlotType {
  return path === IMAGES_PATH ? 'image' : (inferenceRouteOf(path)?.needs ?? 'llm')
}

/** Path of a request target: no query, no trailing slash. */
export function pathOf(target: string): string {
  const at = target.indexOf('?')
  const path = at < 0 ? target : target.slice(0, at)
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** Which route is meant by a method and a request target (`req.url`)? Source: SPEC 11. */
export function matchRoute(method: string, target: string): RouteMatch {
  return (method === 'POST' ? POSTS.get(target) : undefined) ?? matchAny(method, target)
}

function matchAny(method: string, target: string): RouteMatch {
  if (method === 'OPTIONS') return { kind: 'preflight' }
  if (target.startsWith(UPSTREAM)) return matchUpstream(target)
  const path = pathOf(target)
  const posted = POSTS.get(path)
  if (posted !== undefined) return method === 'POST' ? posted : WRITES_ONLY
  const reads = method === 'GET' || method === 'HEAD'
  if (path === '/v1/models') return reads ? MODELS : READS_ONLY
  if (!path.startsWith(ONE_MODEL)) return UNKNOWN
  if (!reads) return READS_ONLY
  const id = decoded(path.slice(ONE_MODEL.length))
  return id === undefined ? BAD_PATH : { kind: 'model', id }
}

/** Any method, any path: what they mean is the engine's business. */
function matchUpstream(target: string): RouteMatch {
  const query = target.indexOf('?')
  const end = query < 0 ? target.length : query
  const slash = target.indexOf('/', UPSTREAM.length)
  const isRoot = slash < 0 || slash > end
  const nameEnd = isRoot ? end : slash
  const slot = decoded(target.slice(UPSTREAM.length, nameEnd))
  if (slot === undefined) return BAD_PATH
  if (slot === '') return UNKNOWN
  return { kind: 'upstream', slot, rest: isRoot ? `/${target.slice(end)}` : target.slice(slash) }
}

/** Undefined = a broken percent escape. */
function decoded(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The query of a request target without the client's key: '' or `?…`. Everything else stays byte for byte. */
export function queryWithoutKey(target: string): string {
  const at = target.indexOf('?')
  if (at < 0) return ''
  const pairs = target.slice(at + 1).split('&')
  // Some programs escape the underscore too.
  const kept = pairs.filter((pair) => !isCredentialParameter(parameterName(pair)) && !holdsKey(decoded(pair) ?? pair))
  if (kept.length === pairs.length) return target.slice(at)
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}

function parameterName(pair: string): string {
  const raw = pair.split('=', 1)[0] ?? ''
  return decoded(raw) ?? raw
}

/**
 * How long may this request wait for a load, in ms? `header` is `X-Hal0-Wait` in seconds: it can lower the limit, not raise it.
 * Undefined = the header is no number of seconds. Source: SPEC 11 "Cold slot".
 */
export function waitLimitMs(header: string | undefined, loadWaitS: number): number | undefined {
  if (header === undefined) return loadWaitS * 1000
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(header.trim())) return undefined
  return Math.min(Number(header), loadWaitS) * 1000
}

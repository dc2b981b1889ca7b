import type { SlotType } from '../../contract/slot-row.ts'

/** A request to /v1 or /upstream, understood as far as method and path go. */
export type RouteMatch =
  | { readonly kind: 'models' }
  | { readonly kind: 'model'; readonly id: string }
  /** Goes to an engine under the same path. */
  | { readonly kind: 'inference'; readonly path: InferencePath }
  /** `POST /v1/images/generations`. */
  | { readonly kind: 'images' }
  | { readonly kind: 'preflight' }
  /** A route of the contract that is not served yet. */
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'bad_path' }
  | { readonly kind: 'wrong_method'; readonly allow: string }

/** POST routes with a JSON body that are forwarded. Source: SPEC 11. */
export const INFERENCE_PATHS = ['/v1/chat/completions', '/v1/completions'] as const
export type InferencePath = (typeof INFERENCE_PATHS)[number]

/** Painted by ComfyUI, or forwarded to an engine that has this route itself. Source: SPEC 8, 11. */
export const IMAGES_PATH = '/v1/images/generations'

/** Every path that may reach an engine. */
export type EnginePath = InferencePath | typeof IMAGES_PATH

/** Of those, the ones whose engines know `chat_template_kwargs`. */
export const THINKING_PATHS: readonly EnginePath[] = ['/v1/chat/completions']

/** Paths that only slots of one type can answer; every other one is for `llm`. Source: SPEC 11 "Resolution" 4. */
const TYPE_OF_PATH: ReadonlyMap<string, SlotType> = new Map<string, SlotType>([
  ['/v1/embeddings', 'embedding'],
  ['/v1/rerank', 'reranking'],
  ['/v1/rerankings', 'reranking'],
  ['/v1/audio/speech', 'tts'],
  ['/v1/audio/transcriptions', 'transcription'],
  [IMAGES_PATH, 'image'],
])

/** The type of slot that can answer requests to this path (without query). */
export function slotTypeFor(path: string): SlotType {
  return TYPE_OF_PATH.get(path) ?? 'llm'
}

const UNSUPPORTED_PATHS = [
  '/v1/responses',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/rerankings',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/tokenize',
]

const READ = 'GET, HEAD, OPTIONS'
const WRITE = 'POST, OPTIONS'

/** Path of a request target: no query, no trailing slash. */
export function pathOf(target: string): string {
  const path = target.split('?', 1)[0] ?? ''
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** Which route is meant by a method and a request target (`req.url`)? Source: SPEC 11. */
export function matchRoute(method: string, target: string): RouteMatch {
  if (method === 'OPTIONS') return { kind: 'preflight' }
  const path = pathOf(target)
  const reads = method === 'GET' || method === 'HEAD'
  if (path === '/v1/models') return reads ? { kind: 'models' } : { kind: 'wrong_method', allow: READ }
  if (path.startsWith('/v1/models/')) {
    if (!reads) return { kind: 'wrong_method', allow: READ }
    try {
      return { kind: 'model', id: decodeURIComponent(path.slice('/v1/models/'.length)) }
    } catch {
      return { kind: 'bad_path' }
    }
  }
  if (path === IMAGES_PATH) return method === 'POST' ? { kind: 'images' } : { kind: 'wrong_method', allow: WRITE }
  const inference = INFERENCE_PATHS.find((known) => known === path)
  if (inference === undefined) {
    const isPlanned = UNSUPPORTED_PATHS.includes(path) || path.startsWith('/upstream/')
    return { kind: isPlanned ? 'unsupported' : 'unknown' }
  }
  return method === 'POST' ? { kind: 'inference', path: inference } : { kind: 'wrong_method', allow: WRITE }
}

const KEY_PARAMETERS = ['key', 'api_key', 'api-key', 'apikey', 'access_token', 'token']

/** The query of a request target without the client's key: '' or `?…`. Everything else stays byte for byte. */
export function queryWithoutKey(target: string): string {
  const at = target.indexOf('?')
  if (at < 0) return ''
  const kept = target
    .slice(at + 1)
    .split('&')
    .filter((pair) => !KEY_PARAMETERS.includes(parameterName(pair)))
  return kept.length === 0 || (kept.length === 1 && kept[0] === '') ? '' : `?${kept.join('&')}`
}

function parameterName(pair: string): string {
  const raw = pair.split('=', 1)[0] ?? ''
  try {
    return decodeURIComponent(raw).toLowerCase()
  } catch {
    return raw.toLowerCase()
  }
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

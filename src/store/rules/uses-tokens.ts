import type { RequestRecord } from '../../contract/request-record.ts'

/** Routes of the contract whose answers say what they used, or should. */
const ROUTES: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/rerankings',
])

/** The engines' own names for such work, behind `/upstream/SLOT`. */
const ENGINE_PATHS: ReadonlySet<string> = new Set([
  ...ROUTES,
  '/chat/completions',
  '/completion',
  '/completions',
  '/infill',
  '/responses',
  '/embedding',
  '/embeddings',
  '/rerank',
  '/reranking',
  '/v1/reranking',
  '/generate',
])

/**
 * Does an engine use tokens for such a request? Counting tokens, tokenizing, speech, images, lists and looks at an engine have no usage that
 * could be unknown. What passes through `/upstream` is not read, so what it uses always is. Source: SPEC 11 "Usage".
 */
export function usesTokens({ method, route, path }: Pick<RequestRecord, 'method' | 'route' | 'path'>): boolean {
  if (route !== '/upstream') return ROUTES.has(route)
  const rest = path.indexOf('/', '/upstream/'.length)
  return method === 'POST' && rest >= 0 && ENGINE_PATHS.has(path.slice(rest))
}

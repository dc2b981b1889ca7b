import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createEmbeddingRoute } from './embedding-route.ts'
import type { Engine } from './engine.ts'
import { type BodyRoute, chatCompletions, completions, nativeCompletion } from './generation-routes.ts'
import { clientGone, readJson, sendFailure, sendJson } from './http-io.ts'
import { type InfoRoute, metricsRoute, modelsRoute, propsRoute, slotsRoute } from './info-routes.ts'
import { EngineError } from './rules/engine-error.ts'
import { applyTemplateRoute, detokenizeRoute, tokenizeRoute } from './text-routes.ts'

const GET_ROUTES: Readonly<Record<string, InfoRoute>> = {
  '/v1/models': modelsRoute,
  '/models': modelsRoute,
  '/props': propsRoute,
  '/slots': slotsRoute,
  '/metrics': metricsRoute,
}

const embeddings = createEmbeddingRoute()

const POST_ROUTES: Readonly<Record<string, BodyRoute>> = {
  '/v1/chat/completions': chatCompletions,
  '/chat/completions': chatCompletions,
  '/v1/completions': completions,
  '/completions': nativeCompletion,
  '/completion': nativeCompletion,
  '/v1/embeddings': embeddings,
  '/tokenize': tokenizeRoute,
  '/detokenize': detokenizeRoute,
  '/apply-template': applyTemplateRoute,
}

/** Open without the key: they say that something is up, not what. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/health', '/v1/health', '/v1/models', '/models'])

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function sentKey(request: IncomingMessage): string {
  const bearer = /^Bearer (.*)$/i.exec(request.headers.authorization ?? '')?.[1]
  const header = request.headers['x-api-key']
  return bearer ?? (typeof header === 'string' ? header : '')
}

/** What the router asks of the process around it. */
export interface RouterOptions {
  /** undefined while the model is being loaded. */
  engine(): Engine | undefined
  /** undefined = no key is asked for. */
  readonly apiKey: string | undefined
}

/** Answers one HTTP request. Never rejects. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Key first, then the state of the load, then the route. */
export function createRouter(options: RouterOptions): RequestHandler {
  const expected = options.apiKey === undefined ? undefined : digest(options.apiKey)
  const allowed = (request: IncomingMessage, path: string): boolean =>
    expected === undefined || OPEN_PATHS.has(path) || timingSafeEqual(expected, digest(sentKey(request)))

  const route = async (request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    if (!allowed(request, path)) throw new EngineError(401, 'authentication_error', 'Invalid API Key')
    const engine = options.engine()
    if (engine === undefined) throw new EngineError(503, 'unavailable_error', 'Loading model')
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (path === '/health' || path === '/v1/health') return sendJson(response, 200, { status: 'ok' })
      const info = GET_ROUTES[path]
      if (info !== undefined) return info(engine, response)
    }
    const post = request.method === 'POST' ? POST_ROUTES[path] : undefined
    if (post === undefined) throw new EngineError(404, 'not_found_error', 'File Not Found')
    await post(engine, await readJson(request), response, signal)
  }

  return async (request, response) => {
    const signal = clientGone(response)
    try {
      await route(request, response, signal)
    } catch (thrown) {
      if (!signal.aborted) sendFailure(response, thrown)
    }
  }
}

import { errorAnswer } from '../contract/error-answer.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { respond } from './answer-error.ts'
import type { ApiRequest } from './api-context.ts'

interface KnownRoute {
  readonly method: string
  /** Hono's notation: `/api/slots/:name`. */
  readonly path: string
}

/**
 * 405 with `Allow` when the path has routes of other methods, else 404. The registry has no code for "no such address", so both are
 * `request.invalid` under their own HTTP status.
 */
export function answerUnknownRoute(c: ApiRequest, routes: readonly KnownRoute[]): Response {
  const { method, path } = c.req
  const methods = new Set(routes.filter((route) => matches(route.path, path)).map((route) => route.method))
  const requestId = c.get('requestId')
  if (methods.size === 0) {
    const hint = path.startsWith('/api/models/') ? ' A / inside a model id is written %2F.' : ''
    const message = `There is no ${path}; GET /api/openapi.json lists the routes.${hint}`
    return respond(errorAnswer(Hal0Error.of('request.invalid', message), requestId, { status: 404 }))
  }
  if (methods.has('GET')) methods.add('HEAD')
  const allow = [...methods].toSorted().join(', ')
  const message = `${path} does not take ${method}; it takes ${allow}.`
  return respond(errorAnswer(Hal0Error.of('request.invalid', message), requestId, { status: 405 }), { allow })
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const parts = path.split('/')
  return wanted.length === parts.length && wanted.every((part, at) => part === parts[at] || isFilled(part, parts[at]))
}

function isFilled(part: string, value: string | undefined): boolean {
  return part.startsWith(':') && value !== undefined && value !== ''
}

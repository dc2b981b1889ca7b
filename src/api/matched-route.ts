import { matchedRoutes } from 'hono/route'
import type { ApiRequest } from './api-context.ts'

/** A route as OpenAPI calls it: `/api/slots/{name}`. `method`: of the route; HEAD is answered by that of GET. */
export interface MatchedRoute {
  readonly method: string
  readonly template: string
}

/**
 * The route that answers this request, as the router itself found it; undefined = none has this path and method. The first one answers:
 * `/api/profiles/export` also looks like a profile of that name.
 */
export function matchedRoute(c: ApiRequest): MatchedRoute | undefined {
  const found = matchedRoutes(c).find(({ path }) => !path.endsWith('*'))
  return found === undefined ? undefined : { method: found.method, template: templateOf(found.path) }
}

/** From the router's notation (`:name`) to that of OpenAPI. */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}')
}

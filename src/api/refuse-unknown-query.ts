import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { Hal0Error } from '../kernel/errors.ts'
import type { ApiEnv } from './api-context.ts'
import { matchedRoute } from './matched-route.ts'

/**
 * A route that describes no query takes none; the others check theirs by their schema. `app`: asked at each request, so its routes may be
 * added later. Errors: `validation.invalid` naming every parameter.
 */
export function refuseUnknownQuery(app: OpenAPIHono<ApiEnv>): MiddlewareHandler<ApiEnv> {
  let queryless: ReadonlySet<string> | undefined
  return async (c, next) => {
    queryless ??= routesWithoutQuery(app)
    const names = [...new Set(new URL(c.req.url).searchParams.keys())]
    const route = matchedRoute(c)
    // `/metrics` is asked by scrapers, which may add parameters of their own.
    const isOurs = route?.template.startsWith('/api/') === true
    if (names.length > 0 && isOurs && queryless.has(`${route.method} ${route.template}`)) {
      const fields = names.map((param) => ({ param, message: 'there is no such parameter here' }))
      const text = fields.map(({ param, message }) => `${param}: ${message}`).join('; ')
      throw Hal0Error.of('validation.invalid', `The query string is not valid. ${text}.`, {
        param: names[0] ?? 'query string',
        details: { fields },
      })
    }
    await next()
  }
}

/** `GET /api/slots/{name}`. */
function routesWithoutQuery(app: OpenAPIHono<ApiEnv>): ReadonlySet<string> {
  const routes = app.openAPIRegistry.definitions.flatMap((one) => (one.type === 'route' ? [one.route] : []))
  const plain = routes.filter(({ request }) => request?.query === undefined)
  return new Set(plain.map(({ method, path }) => `${method.toUpperCase()} ${path}`))
}

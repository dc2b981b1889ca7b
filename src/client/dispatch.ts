import { type RouteExplanation, routeExplanationSchema } from '../contract/route-explanation.ts'
import type { Http } from './http.ts'

/** A request that is asked about. Absent `model` = it names none; absent `path` = chat. */
export interface RouteQuestion {
  readonly model?: string | undefined
  readonly path?: string | undefined
}

/** Which slot would answer it now, and why? Errors: ClientError, UnreachableError. Source: SPEC 11 `explain`. */
export function explainRoute(http: Http, { model, path }: RouteQuestion): Promise<RouteExplanation> {
  return http.json(routeExplanationSchema, '/api/dispatch/explain', { query: { model, path } })
}

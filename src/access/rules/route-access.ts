/** Who may use a route. `open`: everybody, signed in or not; `member`: every user; `admin`: admins and the local admin. Source: SPEC 14 "Roles". */
export type Access = 'open' | 'member' | 'admin'

export interface ListedRoute {
  /** Upper case. HEAD counts as GET. */
  readonly method: string
  /** As the OpenAPI document writes it, for example `/api/lanes/{name}`. */
  readonly path: string
}

function listed(...lines: readonly string[]): readonly ListedRoute[] {
  return lines.map((line) => {
    const [method = '', path = ''] = line.split(' ')
    return { method, path }
  })
}

/** No key is needed. The calendar feed checks the token in its address itself. Source: SPEC 14. */
export const OPEN_ROUTES = listed(
  'GET /api/health',
  'POST /api/session',
  'POST /api/session/set-up',
  'GET /api/lanes/{name}/calendar.ics',
)

/** Every user may; what of it a member sees or changes is decided there. Source: SPEC 14 "member". */
export const MEMBER_ROUTES = listed(
  'GET /api/session',
  'DELETE /api/session',
  'GET /api/status',
  'GET /api/openapi.json',
  'GET /api/slots',
  'GET /api/slots/{name}',
  'GET /api/slots/{name}/state',
  'GET /api/slots/{name}/state/stream',
  'GET /api/slots/{name}/loads',
  'GET /api/models',
  'GET /api/models/{id}',
  'GET /api/dispatch/explain',
  'GET /api/lanes',
  'GET /api/lanes/{name}',
  'GET /api/lanes/{name}/explain',
  'GET /api/lanes/{name}/timeline',
  'GET /api/reservations',
  'POST /api/reservations',
  'POST /api/reservations/check',
  'GET /api/reservations/{id}',
  'PATCH /api/reservations/{id}',
  'DELETE /api/reservations/{id}',
  'POST /api/reservations/{id}/end',
  'POST /api/reservations/{id}/extend',
  'GET /api/notifications',
  'POST /api/notifications/read',
  'GET /api/keys',
  'POST /api/keys',
  'DELETE /api/keys/{key}',
  'PATCH /api/users/{user}',
  'POST /api/calendar-token',
  'GET /api/usage',
)

const keyOf = ({ method, path }: ListedRoute): string => `${method} ${path}`
const OPEN = new Set(OPEN_ROUTES.map(keyOf))
const MEMBER = new Set(MEMBER_ROUTES.map(keyOf))

/** Who may use this route? What nobody listed is an admin's. `path`: the template, not the address. Source: SPEC 14. */
export function routeAccess(method: string, path: string): Access {
  const upper = method.toUpperCase()
  const key = keyOf({ method: upper === 'HEAD' ? 'GET' : upper, path })
  if (OPEN.has(key)) return 'open'
  return MEMBER.has(key) ? 'member' : 'admin'
}

/** A request that was done. */
export interface DoneRequest {
  /** Of the route, upper case. */
  readonly method: string
  /** As OpenAPI writes it: `/api/lanes/{name}`. */
  readonly template: string
  /** The path as it came, without keys. */
  readonly path: string
  /** The top keys of the body; what they say may be a secret. */
  readonly fields: readonly string[]
  /** Where what was made is, as the answer says; undefined = nothing was. */
  readonly madeAt: string | undefined
  /** Whose booking it is about; undefined = it is about none. */
  readonly owner: string | undefined
}

/** Written down by the room that does it, in one transaction with the change. */
const WRITTEN_BEFORE = new Set(['users', 'keys', 'session', 'calendar-token'])
/** They change nothing, or nothing but what the caller has read. */
const CHANGES_NOTHING = new Set([
  'POST /api/reservations/check',
  'POST /api/models/inspect',
  'POST /api/notifications/read',
])
/** Programs do these by the minute, and the events of the slots tell them. */
const RUNS_SLOTS = /^POST \/api\/slots\/\{name\}\/(?:load|unload|restart|swap)$/

/** What kind of act is it, for the audit (`lanes`, `reservations`)? Undefined = none that is written down. Source: SPEC 14 "audit events". */
export function selectAuditArea({ method, template }: Pick<DoneRequest, 'method' | 'template'>): string | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined
  const route = `${method} ${template}`
  if (CHANGES_NOTHING.has(route) || RUNS_SLOTS.test(route)) return undefined
  const area = /^\/api\/([a-z-]+)/.exec(template)?.[1]
  return area === undefined || WRITTEN_BEFORE.has(area) ? undefined : area
}

/** Words that are keys of settings; what somebody else wrote there is left out. */
const FIELD = /^[a-z][a-z0-9_]{0,39}$/
const MAX_FIELDS = 20

/** The act as the audit keeps it. `who`: a name. */
export function auditedAct(request: DoneRequest, who: string): { message: string; data: Record<string, unknown> } {
  const { method, template, path, madeAt, owner } = request
  const fields = request.fields.filter((key) => FIELD.test(key)).slice(0, MAX_FIELDS)
  const made = madeAt === undefined ? '' : ` (made ${madeAt})`
  const named = fields.length === 0 ? '' : `: ${fields.join(', ')}`
  const whose = owner === undefined ? '' : `, a booking of ${owner}`
  return {
    message: `${who} did ${method} ${path}${made}${named}${whose}`,
    data: {
      route: `${method} ${template}`,
      path,
      fields,
      ...(madeAt === undefined ? {} : { made: madeAt }),
      ...(owner === undefined ? {} : { owner }),
    },
  }
}

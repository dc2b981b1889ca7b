import type { MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { type Caller, isAdmin, nameOf, userIdOf } from '../access/caller.ts'
import type { Guard } from '../access/guard.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { maskKeys } from '../kernel/mask-keys.ts'
import { shortText } from '../kernel/short-text.ts'
import type { ApiEnv, ApiRequest, ManagementPorts } from './api-context.ts'
import { matchedRoute } from './matched-route.ts'
import { auditedAct, selectAuditArea } from './rules/audited-act.ts'

const MAX_PATH_CHARS = 200

/**
 * Writes down what admins change through the API and what people were refused, for every route there is or will be. Stands before the gate. Rooms that
 * keep their own audit (users, keys, sessions) are left out, and so is what an admin does with bookings of their own. Source: SPEC 14 "audit events".
 */
export function createAuditDoor(doors: {
  readonly guard: Guard
  readonly ports: Pick<ManagementPorts, 'accounts'>
}): MiddlewareHandler<ApiEnv> {
  const { guard, ports } = doors
  return async (c, next) => {
    await next()
    const route = matchedRoute(c)
    if (route === undefined) return
    if (c.error instanceof Hal0Error && c.error.code === 'auth.forbidden') {
      const caller = c.get('caller') ?? whoCame(c, guard)
      if (caller !== undefined) ports.accounts.audit.refused(`${route.method} ${route.template}`, caller)
      return
    }
    const caller = c.get('caller')
    const area = selectAuditArea(route)
    if (c.res.status >= 400 || area === undefined || caller === undefined || !isAdmin(caller)) return
    const madeAt = c.res.status === 201 ? (c.res.headers.get('location') ?? undefined) : undefined
    const owner = area === 'reservations' ? await ownerOf(c.res) : undefined
    if (owner?.id === userIdOf(caller)) return
    const path = shortText(maskKeys(c.req.path), MAX_PATH_CHARS)
    const fields = await fieldsOf(c)
    const act = auditedAct({ ...route, path, fields, madeAt, owner: owner?.name }, nameOf(caller))
    ports.accounts.audit.did({ area, ...act }, caller)
  }
}

/** The gate says who comes only where it lets them in. */
function whoCame(c: ApiRequest, guard: Guard): Caller | undefined {
  const admitted = guard(c.env.incoming)
  return admitted.ok ? admitted.value : undefined
}

const ownerSchema = z.object({ owner: z.object({ id: z.string(), name: z.string() }) })
const answerSchema = z.union([
  ownerSchema,
  z.object({ reservations: z.array(ownerSchema).min(1) }).transform(({ reservations: [first] }) => first),
])

/** Whose booking, as the answer says: of a series, that of its first. Undefined = it does not say. */
async function ownerOf(answer: Response): Promise<z.output<typeof ownerSchema>['owner'] | undefined> {
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined)
  return answerSchema.safeParse(body).data?.owner
}

/** The keys of the body that was read; a body that no route asked for is not. */
async function fieldsOf(c: ApiRequest): Promise<readonly string[]> {
  if (c.get('bodySchema') === undefined) return []
  try {
    const body: unknown = await c.req.json()
    return typeof body === 'object' && body !== null ? Object.keys(body) : []
  } catch {
    return []
  }
}

import type { MiddlewareHandler } from 'hono'
import { type Caller, isAdmin, nameOf } from '../access/caller.ts'
import type { Guard, OpenDoor } from '../access/guard.ts'
import { type Access, routeAccess } from '../access/rules/route-access.ts'
import { Hal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { err, type Result } from '../kernel/result.ts'
import type { ApiEnv, AskGate } from './api-context.ts'
import { type MatchedRoute, matchedRoute } from './matched-route.ts'

/**
 * The one gate of the management API, before anything looks at what is asked: who sends this, and may they? What no route has needs credentials too,
 * so that nothing is told to strangers. Errors: those of Guard and OpenDoor, `auth.forbidden`. Source: SPEC 14.
 */
export function createGate(doors: {
  readonly guard: Guard
  readonly openDoor: OpenDoor
  readonly log: Log
}): MiddlewareHandler<ApiEnv> {
  const { guard, openDoor, log } = doors
  return async (c, next) => {
    const route = matchedRoute(c)
    const access: Access = route === undefined ? 'member' : routeAccess(route.method, route.template)
    const { incoming } = c.env
    const ask = (): Result<Caller | undefined, Hal0Error> => {
      const admitted = access === 'open' ? openDoor(incoming) : guard(incoming)
      const refusal = admitted.ok ? forbids(access, route, admitted.value) : admitted.error
      if (refusal === undefined) return admitted
      const facts = { request_id: c.get('requestId'), code: refusal.code, reason: refusal.message }
      log.warn(facts, 'request refused')
      return err(refusal)
    }
    c.set('askGate', ask)
    enter(c)
    await next()
  }
}

/**
 * Who asks, and may they, as of now? Asked anew by whatever took its time (a body that came slowly, a stream): keys end, users are made and removed
 * meanwhile. Errors: as the gate. Source: SPEC 14.
 */
export function enter(c: { get(key: 'askGate'): AskGate; set(key: 'caller', caller: Caller | undefined): void }): void {
  const admitted = c.get('askGate')()
  if (!admitted.ok) throw admitted.error
  c.set('caller', admitted.value)
}

/** For a stream: may its reader go on? Who they are is looked up with it. Source: SPEC 14. */
export function mayRead(c: Parameters<typeof enter>[0]): () => boolean {
  return () => {
    const admitted = c.get('askGate')()
    if (admitted.ok) c.set('caller', admitted.value)
    return admitted.ok
  }
}

/** `caller` undefined = nobody known, which only what is open admits. */
function forbids(access: Access, route: MatchedRoute | undefined, caller: Caller | undefined): Hal0Error | undefined {
  if (access !== 'admin' || (caller !== undefined && isAdmin(caller))) return undefined
  const what = route === undefined ? 'This' : `${route.method} ${route.template}`
  const who = caller === undefined ? 'nobody is signed in' : `${nameOf(caller)} is a member`
  return Hal0Error.of('auth.forbidden', `${what} needs the role admin; ${who}`, {
    details: { needs_role: 'admin', remedy: 'Ask an administrator to do it, or use the key of one.' },
  })
}

import type { Context } from 'hono'
import type { Caller } from '../access/guard.ts'
import type { DaemonFacts } from '../contract/status.ts'
import type { EventBus } from '../events/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Slots } from '../slots/slots.ts'
import type { Operations } from './operations.ts'

/** What the routes of the management API work with. */
export interface ApiContext {
  readonly slots: Slots
  readonly bus: EventBus
  readonly clock: Clock
  readonly log: Log
  /** Asked per request: the URL is known only once the daemon listens. */
  readonly daemon: () => DaemonFacts
  /** Daemon shutdown: event streams end. */
  readonly closing: AbortSignal
  readonly operations: Operations
}

/** Hono's types of our app: what a request carries besides itself. `c.env.caller`: who asks, as the guard found. */
export interface ApiEnv {
  Bindings: { readonly caller: Caller }
  Variables: { requestId: string }
}
export type ApiRequest = Context<ApiEnv>

/** Hono answers HEAD with the GET handler and drops the body: a stream must not be opened for it. */
export function isHead(c: { readonly req: { readonly raw: Request } }): boolean {
  return c.req.raw.method === 'HEAD'
}

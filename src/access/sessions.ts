import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { SessionInfo, setUpSchema, signInSchema } from '../contract/user.ts'
import type { Caller } from './caller.ts'

/** A cookie that was made, and who it stands for. */
export interface SignedIn {
  /** The whole value of `Set-Cookie`. */
  readonly cookie: string
  readonly info: SessionInfo
}

/**
 * Signing in and out with a password, for the dashboard. `from`: the request as it came; it says the address (for the limit), whether it came by
 * https (for the cookie) and which session it holds. Source: SPEC 14.
 */
export interface Sessions {
  /** Errors: `auth.required` (name or password is wrong: not told which), `auth.rate_limited`, `lane.store_unavailable`. */
  signIn(request: z.output<typeof signInSchema>, from: IncomingMessage): Promise<SignedIn>
  /** Ends the session that the request holds, if any. The answer: the value of `Set-Cookie` that takes the cookie away. */
  signOut(from: IncomingMessage): Promise<string>
  /** The first admin, by the one-time token. Errors: `auth.required`, `auth.rate_limited`, `validation.invalid`, `lane.store_unavailable`. */
  setUp(request: z.output<typeof setUpSchema>, from: IncomingMessage): Promise<SignedIn>
  /** Who am I? */
  info(caller: Caller, from: IncomingMessage): SessionInfo
}

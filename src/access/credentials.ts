import type { SessionInfo } from '../contract/user.ts'
import type { Result } from '../kernel/result.ts'
import type { Caller } from './caller.ts'

/** `open`: nobody is defined; `users`: somebody is; `locked`: somebody was, and it cannot be read who. */
export type AccessMode = SessionInfo['state']

/** What the guard asks of the accounts. Answers from memory. Source: SPEC 14. */
export interface Credentials {
  readonly mode: AccessMode
  /** Whose key is this? Else what is wrong with it: half a sentence, without the key. */
  key(secret: string): Result<Caller, string>
  /** Whose session is this? Else what is wrong with it. */
  session(token: string): Result<Caller, string>
}

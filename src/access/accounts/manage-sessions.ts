import type { IncomingMessage } from 'node:http'
import type { SessionInfo } from '../../contract/user.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { Caller } from '../caller.ts'
import type { AccessMode } from '../credentials.ts'
import type { Passwords } from '../password.ts'
import { originOf } from '../request-origin.ts'
import type { RequestOrigin } from '../rules/client-address.ts'
import { readCredentials } from '../rules/sent-credentials.ts'
import { endedCookie, sessionCookie } from '../rules/session-cookie.ts'
import { hashSecret, newSecret } from '../secrets.ts'
import type { Sessions, SignedIn } from '../sessions.ts'
import type { SetUpToken } from '../set-up-token.ts'
import type { AccountContext } from './account-context.ts'
import type { CredentialsCheck } from './credentials-check.ts'
import type { LateWrites } from './late-writes.ts'
import type { UserManagement } from './manage-users.ts'
import type { SessionRecord, UserRecord } from './records.ts'
import { isoOrNull, userRowOf } from './rows.ts'
import type { Attempt, SignInAttempts } from './sign-in-attempts.ts'

/** The oldest goes when one more begins: nobody has so many browsers. */
export const MAX_SESSIONS_PER_USER = 20

export interface SessionManagementDeps extends AccountContext {
  readonly passwords: Passwords
  readonly attempts: SignInAttempts
  readonly check: Pick<CredentialsCheck, 'findSession'>
  readonly late: Pick<LateWrites, 'sessionEnded'>
  readonly setUpToken: SetUpToken
  readonly createFirstAdmin: UserManagement['createFirstAdmin']
  readonly mode: () => AccessMode
  readonly lock: () => string | undefined
  readonly settings: () => { readonly sessionMs: number; readonly trustedProxies: readonly string[] }
}

export function createSessionManagement(deps: SessionManagementDeps): Sessions {
  const {
    memory,
    journal,
    clock,
    passwords,
    attempts,
    check,
    late,
    setUpToken,
    createFirstAdmin,
    mode,
    lock,
    settings,
  } = deps
  const viaOf = (from: IncomingMessage): RequestOrigin => originOf(from, settings().trustedProxies)
  const sessionOf = (from: IncomingMessage): SessionRecord | undefined =>
    readCredentials(from.rawHeaders)
      .sessions.map((token) => check.findSession(token))
      .find((session) => session !== undefined)

  function begin(user: UserRecord, via: RequestOrigin): SignedIn {
    const token = newSecret('hal0_session_')
    const nowMs = clock.nowMs()
    const session: SessionRecord = {
      hash: hashSecret(token),
      userId: user.id,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + settings().sessionMs,
    }
    memory.removeEndedSessions(nowMs)
    const tooMany = memory.sessionsOf(user.id).slice(0, -(MAX_SESSIONS_PER_USER - 1))
    journal.commit({
      entries: [
        {
          type: 'signed_in',
          by: { id: user.id, name: user.name },
          message: `${user.name} signed in from ${via.address}`,
          data: { user_id: user.id, name: user.name, address: via.address },
        },
      ],
      write({ sessions }) {
        sessions.removeEnded(nowMs)
        for (const { hash } of tooMany) sessions.remove(hash)
        sessions.add(session)
      },
      remember() {
        for (const { hash } of tooMany) memory.removeSession(hash)
        memory.putSession(session)
      },
    })
    return { cookie: sessionCookie(token, via.isHttps), info: infoOf('session', user, session.expiresAtMs) }
  }

  /** The user whose name and password these are. Errors: `auth.required`; then the attempt counts. */
  async function demandUser(name: string, password: string, via: RequestOrigin, attempt: Attempt): Promise<UserRecord> {
    const user = memory.userByName(name)
    const hash = user?.passwordHash
    const isRight = await passwords.verify(password, hash).catch((cause: unknown) => {
      attempt.undone()
      throw cause
    })
    const now = user === undefined ? undefined : memory.user(user.id)
    // The password may have been changed while it was checked.
    if (isRight && now !== undefined && now.passwordHash === hash && now.disabledAtMs === undefined) return now
    // A name that nobody has may be a password in the wrong field.
    const who = user?.name ?? 'a name that nobody has'
    journal.note({
      type: 'sign_in_failed',
      severity: 'warning',
      by: { id: user?.id ?? '', name: user?.name ?? '' },
      message: `Signing in as ${who} failed, from ${via.address}`,
      data: { user_id: user?.id ?? null, name: user?.name ?? null, address: via.address },
    })
    throw Hal0Error.of('auth.required', 'The name or the password is wrong.', {
      details: { remedy: 'Try again, or ask an admin for a new password (`hal0 user edit NAME --password-stdin`).' },
    })
  }

  return {
    async signIn({ name, password }, from) {
      const via = viaOf(from)
      const attempt = attempts.begin(via.address, name)
      const user = await demandUser(name, password, via, attempt)
      attempt.succeeded()
      return begin(user, via)
    },

    async signOut(from) {
      const via = viaOf(from)
      const session = sessionOf(from)
      const user = session === undefined ? undefined : memory.user(session.userId)
      if (session !== undefined && user !== undefined) {
        // Ended at once, whether the disk can be written or not.
        memory.removeSession(session.hash)
        late.sessionEnded(session.hash)
        const { id, name } = user
        journal.note({
          type: 'signed_out',
          by: { id, name },
          message: `${name} signed out`,
          data: { user_id: id, name, address: via.address },
        })
      }
      return endedCookie(via.isHttps)
    },

    async setUp({ token, name, password }, from) {
      const via = viaOf(from)
      const attempt = attempts.begin(via.address, '')
      if (!setUpToken.take(token)) {
        journal.note({
          type: 'set_up_failed',
          severity: 'warning',
          by: { id: '', name: '' },
          message: `Set-up failed, from ${via.address}: the token is not the one, or set-up is over`,
          data: { address: via.address },
        })
        const said = mode() === 'open' ? 'This is not the set-up token.' : 'Set-up is over: users are defined.'
        throw Hal0Error.of('auth.required', said, {
          param: 'token',
          details: { remedy: 'The token is printed when `hal0 serve` starts without users; else sign in.' },
        })
      }
      attempt.succeeded()
      const user = await createFirstAdmin({ name, password }).catch((cause: unknown) => {
        // A name that was no good may be tried again.
        setUpToken.giveBack()
        throw cause
      })
      return begin(user, via)
    },

    info(caller: Caller, from): SessionInfo {
      if (caller.kind === 'local_admin') {
        const kind = mode() === 'open' ? 'open' : 'local'
        const door = { state: mode(), lock: lock() ?? null, needs_set_up: kind === 'open' }
        return { kind, role: 'admin', user: null, ...door, expires_at: null }
      }
      const user = memory.user(caller.userId)
      if (user === undefined) throw Hal0Error.of('auth.required', 'This user was removed.')
      if (caller.keyId !== undefined) return infoOf('key', user, memory.key(caller.keyId)?.expiresAtMs)
      return infoOf('session', user, sessionOf(from)?.expiresAtMs)
    },
  }
}

function infoOf(kind: 'key' | 'session', user: UserRecord, expiresAtMs: number | undefined): SessionInfo {
  const door = { state: 'users', lock: null, needs_set_up: false } as const
  return { kind, role: user.role, user: userRowOf(user), ...door, expires_at: isoOrNull(expiresAtMs) }
}

import type { SessionInfo, UserRow } from '../../contract/user.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { lockText } from '../open-text.ts'
import { openOwnZone } from '../own-zone.ts'
import { localTimes } from '../rules/local-times.ts'

/** `hal0 user list`. JSON: `{users: [row, …]}`, the rows of GET /api/users. */
export async function userList(options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const { people } = await connect(options)
  const users = await people.users()
  if (users.length === 0 && !output.json) {
    const { lock } = await people.session()
    output.note(
      lock === null
        ? 'no users: everybody on this machine is the admin; `hal0 user create NAME --admin` makes the first'
        : lockText(lock),
    )
  }
  output.result({ users }, () =>
    users.length === 0
      ? ''
      : output.table(['NAME', 'ROLE', 'SIGNS IN', 'E-MAIL', 'TIME ZONE', 'STATE'], users.map(cells)),
  )
}

function cells({ name, role, has_password, email, time_zone, disabled_at }: UserRow): string[] {
  const state = disabled_at === null ? 'may come in' : 'disabled'
  return [name, role, has_password ? 'with a password' : 'by key only', email ?? '-', time_zone ?? 'UTC', state]
}

/** `hal0 user whoami`. JSON: the answer of GET /api/session. */
export async function userWhoami(options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const session = await (await connect(options)).people.session()
  const zone = session.expires_at === null ? undefined : await openOwnZone(options)
  output.result(session, () => (zone === undefined ? whoText(session) : localTimes(whoText(session), zone)))
  if (session.lock !== null && !output.json) output.note(lockText(session.lock))
}

/** Who the daemon takes the caller for, in one line. */
export function whoText({
  kind,
  role,
  user,
  expires_at,
}: Pick<SessionInfo, 'kind' | 'role' | 'user' | 'expires_at'>): string {
  switch (kind) {
    case 'open':
      return `the ${role} of this machine: no user is defined`
    case 'local':
      return `the ${role} of this machine, by the daemon's own key`
    case 'key':
    case 'session': {
      const how = kind === 'key' ? 'by key' : 'signed in'
      const until = expires_at === null ? '' : `, until ${expires_at}`
      return `${user?.name ?? 'somebody'} (${role}), ${how}${until}`
    }
  }
}

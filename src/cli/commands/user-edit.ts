import { ClientError } from '../../client/client-errors.ts'
import { type UserMade, userChangeSchema, userRequestSchema } from '../../contract/user.ts'
import { type PasswordOptions, readPassword } from '../ask-password.ts'
import { checked } from '../checked.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { endingBookings } from '../ended-bookings.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'
import { rephraseError } from '../rephrase-error.ts'

export interface UserCreateOptions extends GlobalOptions, PasswordOptions {
  readonly admin?: boolean
  readonly email?: string
  readonly timeZone?: string
  /** The name of the key that is made at once; false = none. */
  readonly key: string | false
}

/**
 * `hal0 user create NAME`. With a key its secret is alone on stdout, everything else on stderr. JSON: the answer, `{user, key}`.
 * Errors: UsageError, as `readPassword`.
 */
export async function userCreate(name: string, options: UserCreateOptions): Promise<void> {
  const output = outputOf(options)
  const { admin, email, timeZone, key } = options
  const facts = {
    name,
    role: admin === true ? 'admin' : 'member',
    ...(email === undefined ? {} : { email }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
    ...(key === false ? {} : { key_name: key }),
  }
  // What is wrong with the rest is told before anybody types a password.
  checked(userRequestSchema, facts)
  const password = await readPassword(options)
  const request = checked(userRequestSchema, { ...facts, ...(password === undefined ? {} : { password }) })
  const { people } = await connect(options)
  const isFirst = (await people.session()).needs_set_up
  const made = await people.createUser(request).catch((thrown: unknown) => {
    // Nothing else can be wrong with the role that this command sends.
    const isRole = thrown instanceof ClientError && thrown.param === 'role' && admin !== true
    throw isRole ? rephraseError(thrown, { remedy: `Make an admin: \`hal0 user create ${name} --admin\`.` }) : thrown
  })
  tellMade(output, made, isFirst)
  output.result(made, () => made.key?.secret ?? `user ${made.user.name} is made`)
}

function tellMade(output: Output, { user, key }: UserMade, isFirst: boolean): void {
  if (output.json) return
  if (key !== null) {
    output.note(`user ${user.name} (${user.role}) is made, with the key ${key.key.name}; it is shown this once:`)
  } else if (!user.has_password) {
    output.note(`${user.name} has neither a key nor a password yet; next: hal0 key create NAME --user ${user.name}`)
  }
  if (!isFirst) return
  output.note(`This is the first user. From now on every request needs a key, also those to /v1: clients send it as API key
  ("Authorization: Bearer KEY", or "x-api-key: KEY"), hal0 itself takes it from HAL0_API_KEY. Commands on this machine that can read
  daemon.json go on without one.`)
}

export interface UserEditOptions extends GlobalOptions, PasswordOptions {
  readonly role?: string
  readonly disable?: boolean
  readonly enable?: boolean
  readonly email?: string
  readonly timeZone?: string
}

/** `hal0 user edit NAME`; "" takes e-mail or time zone away. JSON: the row. Errors: UsageError, as `readPassword`. */
export async function userEdit(name: string, options: UserEditOptions): Promise<void> {
  const output = outputOf(options)
  const { role, disable, enable, email, timeZone } = options
  if (disable === true && enable === true) throw new UsageError('--disable and --enable contradict each other.')
  const facts = {
    ...(role === undefined ? {} : { role }),
    ...(email === undefined ? {} : { email: email === '' ? null : email }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone === '' ? null : timeZone }),
    ...(disable === true ? { disabled: true } : {}),
    ...(enable === true ? { disabled: false } : {}),
  }
  checked(userChangeSchema, facts)
  const password = options.password === false && options.passwordStdin !== true ? null : await readPassword(options)
  const change = checked(userChangeSchema, { ...facts, ...(password === undefined ? {} : { password }) })
  const changed = Object.keys(change)
  if (changed.length === 0) {
    throw new UsageError('There is nothing to change.', '`hal0 user edit --help` shows the options.')
  }
  const { people, reservations } = await connect(options)
  const make = () => people.changeUser(name, change).catch(tellingAnotherAdmin)
  const { done: row, ended } =
    change.disabled === true ? await endingBookings(reservations, name, make) : { done: await make(), ended: '' }
  const others = changed.filter((key) => key !== 'disabled')
  const parts = [
    ...(change.disabled === undefined ? [] : [change.disabled ? 'disabled' : 'enabled']),
    ...(others.length === 0 ? [] : [`changed ${others.join(', ')}`]),
  ]
  output.result(row, () => `user ${row.name}: ${parts.join(', ')}${ended}`)
}

/** No field is wrong: the only admin has to stay. */
function tellingAnotherAdmin(thrown: unknown): never {
  const isLastAdmin =
    thrown instanceof ClientError &&
    thrown.code === 'validation.invalid' &&
    ['role', 'disabled', 'user'].includes(thrown.param ?? '')
  if (!isLastAdmin) throw thrown
  const open =
    thrown.param === 'user'
      ? ' Who wants no users any more deletes the others first; then the last one may go, and hal0 is open to everybody on this machine.'
      : ''
  throw rephraseError(thrown, { remedy: `Make one with \`hal0 user edit NAME --role admin\`.${open}` })
}

/** `hal0 user delete NAME`. JSON: `{name, deleted: true}`. */
export async function userDelete(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const { people, reservations } = await connect(options)
  const remove = () => people.removeUser(name).catch(tellingAnotherAdmin)
  const { ended } = await endingBookings(reservations, name, remove)
  output.result({ name, deleted: true }, () => `user ${name} is deleted, with all keys${ended}`)
}

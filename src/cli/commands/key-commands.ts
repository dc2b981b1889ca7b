import type { Command } from 'commander'
import { ClientError } from '../../client/client-errors.ts'
import type { PeopleClient } from '../../client/people.ts'
import { type KeyRow, keyRequestSchema } from '../../contract/user.ts'
import { checked } from '../checked.ts'
import { showExamples } from '../command-help.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { isLastKey } from '../rules/last-key.ts'
import { TIME_FORMS } from '../rules/read-time.ts'
import { momentText } from '../rules/time-text.ts'
import { addTimeZoneOption, openTimes } from '../times.ts'

interface KeyOptions extends GlobalOptions, TimeZoneOption {
  readonly user?: string
  readonly expires?: string
}

/** `hal0 key …`. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys, with which programs and people come in')
  showExamples(key, ['hal0 key create ci', 'hal0 key list', 'hal0 key revoke hal0_abc1234'])
  const list = addTimeZoneOption(
    key
      .command('list')
      .description("own keys, newest first; an admin's: everybody's")
      .option('--user <user>', 'those of this user; admins only'),
  ).action((_options, command: Command) => keyList(command.optsWithGlobals()))
  showExamples(list, ['hal0 key list', 'hal0 key list --user ben'])
  const create = addTimeZoneOption(
    key
      .command('create <name>')
      .description('make a key; it is shown this once')
      .option('--user <user>', 'for this user; admins only (default: for yourself)')
      .option('--expires <time>', 'when it ends (default: never)'),
  ).action((name: string, _options, command: Command) => keyCreate(name, command.optsWithGlobals()))
  showExamples(
    create,
    ['hal0 key create ci', 'hal0 key create laptop --user ben --expires 2027-01-01'],
    `The key is alone on stdout; what else is to say goes to stderr: export HAL0_API_KEY=$(hal0 key create laptop)\nTimes: ${TIME_FORMS}.`,
  )
  const revoke = key
    .command('revoke <key>')
    .description('end a key, named by its id or its first characters')
    .action((name: string, _options, command: Command) => keyRevoke(name, command.optsWithGlobals()))
  showExamples(revoke, ['hal0 key revoke hal0_abc1234'])
}

/** JSON: `{keys: [row, …]}`, the rows of GET /api/keys. */
async function keyList(options: KeyOptions): Promise<void> {
  const output = outputOf(options)
  const { zone } = await openTimes(options, output)
  const keys = await (await connect(options)).people.keys({ user: options.user })
  if (keys.length === 0 && !output.json) output.note('no keys; `hal0 key create NAME` makes one')
  const moment = (iso: string | null, none: string) => (iso === null ? none : momentText(iso, zone))
  output.result({ keys }, () =>
    keys.length === 0
      ? ''
      : output.table(
          ['KEY', 'NAME', 'USER', 'MADE', 'LAST USED', 'ENDS'],
          keys.map(({ prefix, name, user, created_at, last_used_at, expires_at, revoked_at }) => [
            prefix,
            name,
            user.name,
            moment(created_at, '-'),
            moment(last_used_at, 'never'),
            revoked_at === null ? moment(expires_at, 'never') : `revoked ${moment(revoked_at, '')}`,
          ]),
        ),
  )
}

/** The secret is alone on stdout. JSON: the answer, `{key, secret}`. */
async function keyCreate(name: string, options: KeyOptions): Promise<void> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const expiresAt = times.readIso('--expires', options.expires)
  const request = checked(keyRequestSchema, {
    name,
    ...(options.user === undefined ? {} : { user: options.user }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  })
  const made = await (await connect(options)).people.createKey(request)
  const { key } = made
  const end = key.expires_at === null ? '' : `, ends ${momentText(key.expires_at, times.zone)}`
  if (!output.json) output.note(`key ${key.name} of ${key.user.name} is made${end}; it is shown this once:`)
  output.result(made, () => made.secret)
}

/** That it was somebody's only key is a note. JSON: the row. */
async function keyRevoke(key: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const { people } = await connect(options)
  // Afterwards the key may be the one that would have to ask.
  const keys = await keysOrNone(people)
  const row = await people.revokeKey(key)
  output.result(row, () => `key ${row.name} (${row.prefix}) of ${row.user.name} is revoked`)
  if (output.json || !isLastKey(row.id, keys, Date.now())) return
  const { name } = row.user
  output.note(`it was the only key of ${name}; an admin makes another: hal0 key create NAME --user ${name}`)
}

/** None where they cannot be told: a key is revoked all the same. */
async function keysOrNone(people: PeopleClient): Promise<readonly KeyRow[]> {
  try {
    return await people.keys()
  } catch (thrown) {
    if (thrown instanceof ClientError) return []
    throw thrown
  }
}

import { type Command, Option } from 'commander'
import { MAX_AUDIT_ROWS } from '../../contract/audit.ts'
import { ROLES } from '../../contract/user.ts'
import { showExamples } from '../command-help.ts'
import { wholeNumber } from '../option-parsers.ts'
import { addTimeZoneOption } from '../times.ts'
import { userAudit } from './user-audit.ts'
import { userCreate, userDelete, userEdit } from './user-edit.ts'
import { userList, userWhoami } from './user-show.ts'

/** The name of the key that a new user gets, unless another is said. */
const FIRST_KEY = 'first'

/** `hal0 user …`. */
export function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .description('people who may use this hal0; without any, everybody on the machine')
  showExamples(
    user,
    ['hal0 user create anna --admin', 'hal0 user create ben --email ben@example.org', 'hal0 user list'],
    'The first user has to be an admin; from then on every request needs a key.',
  )
  const list = user
    .command('list')
    .description('all users')
    .action((_options, command: Command) => userList(command.optsWithGlobals()))
  showExamples(list, ['hal0 user list'])
  const create = addPasswordOptions(
    user
      .command('create <name>')
      .description('make a user with a key, which is shown this once')
      .option('--admin', 'who may do everything (default: a member)')
      .option('--email <address>', 'where notices go')
      .option('--time-zone <zone>', 'of their bookings, for example Europe/Berlin (default: UTC)')
      .option('--key <name>', 'how that key is called', FIRST_KEY)
      .option('--no-key', 'make no key'),
  ).action((name: string, _options, command: Command) => userCreate(name, command.optsWithGlobals()))
  showExamples(
    create,
    [
      'hal0 user create anna --admin',
      'hal0 user create ben --password --no-key',
      'hal0 user create ci --key nightly > key.txt',
    ],
    'The key is alone on stdout; what else is to say goes to stderr. The password is for the dashboard.',
  )
  const edit = addPasswordOptions(
    user
      .command('edit <name>')
      .description('change a user; "" takes e-mail or time zone away')
      .addOption(new Option('--role <role>', 'what they may do').choices(ROLES))
      .option('--email <address>', 'where notices go')
      .option('--time-zone <zone>', 'of their bookings')
      .option('--disable', 'keep them out: keys and sessions no longer count, open bookings end')
      .option('--enable', 'let them in again'),
  )
    .option('--no-password', 'take the password away')
    .action((name: string, _options, command: Command) => userEdit(name, command.optsWithGlobals()))
  showExamples(edit, [
    'hal0 user edit ben --role admin',
    'hal0 user edit ben --disable',
    'hal0 user edit ben --password',
  ])
  const remove = user
    .command('delete <name>')
    .description('delete a user with all keys; open bookings end')
    .action((name: string, _options, command: Command) => userDelete(name, command.optsWithGlobals()))
  showExamples(remove, ['hal0 user delete ben'])
  const whoami = user
    .command('whoami')
    .description('who the daemon takes you for')
    .action((_options, command: Command) => userWhoami(command.optsWithGlobals()))
  showExamples(whoami, ['hal0 user whoami'])
  addAuditCommand(user)
}

function addAuditCommand(user: Command): void {
  const audit = user
    .command('audit')
    .description('who did what: users, keys, sign-ins, what admins changed, who was refused; newest first')
    .option('--actor <user>', "only what this user did; local: this machine's admin")
    .option('--type <type>', 'only of this type, or of all that begin with it: access, admin.lanes')
    .option('--since <time>', 'only from then on')
    .option('--until <time>', 'only before then')
    .option('--limit <n>', 'at most so many', wholeNumber(1, MAX_AUDIT_ROWS), 100)
    .option('--before <n>', 'only those before the row of this number', wholeNumber(1, 999_999_999))
  addTimeZoneOption(audit).action((_options, command: Command) => userAudit(command.optsWithGlobals()))
  showExamples(audit, [
    'hal0 user audit --since -1d',
    'hal0 user audit --type access.sign_in_failed',
    'hal0 user audit --actor anna --type admin.lanes --json',
  ])
}

function addPasswordOptions(command: Command): Command {
  return command
    .option('--password', 'ask for a password, twice')
    .option('--password-stdin', 'read the password from a pipe')
}

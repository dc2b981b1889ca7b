import { Command, CommanderError, Option } from 'commander'
import { DEFAULT_SLOT } from '../contract/slot-row.ts'
import { ownVersion } from '../version.ts'
import { UsageError } from './cli-error.ts'
import { configureHelp, helpWords, showExamples, silenceUsage } from './command-help.ts'
import { chat } from './commands/chat.ts'
import { addConfigCommands } from './commands/config-commands.ts'
import { doctor } from './commands/doctor.ts'
import { addKeyCommands } from './commands/key-commands.ts'
import { addLaneCommands } from './commands/lane-commands.ts'
import { addModelCommands } from './commands/model-commands.ts'
import { addProfileCommands } from './commands/profile-commands.ts'
import { quickstart } from './commands/quickstart.ts'
import { addReservationCommands } from './commands/reservation-commands.ts'
import { addRouteCommand } from './commands/route.ts'
import { addRunnerCommands } from './commands/runner-list.ts'
import { serve } from './commands/serve.ts'
import { addSlotCommands } from './commands/slot-commands.ts'
import { status } from './commands/status.ts'
import { addUsageCommand } from './commands/usage.ts'
import { addUserCommands } from './commands/user-commands.ts'
import { describeError, type ErrorReport, errorLines } from './describe-error.ts'
import { refuseEmptyWords } from './empty-words.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { familiarCommand } from './familiar-words.ts'
import type { GlobalOptions } from './globals.ts'
import { laneOptionFor } from './lane-payload.ts'
import { MAX_PORT, wholeNumber } from './option-parsers.ts'
import { inOwnTimes } from './own-times.ts'

/** Runs one command line (without `node` and script) and resolves with its exit code; never rejects. Source: SPEC 18. */
export async function runCommandLine(args: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  let options: GlobalOptions = {}
  const program = buildProgram((code) => {
    exitCode = code
  }).hook('preAction', (_program, command) => {
    options = command.optsWithGlobals()
  })
  // Not the parsed option: what is wrong may stand before it.
  const isJson = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json')
  if (isJson) silenceUsage(program)
  try {
    await program.parseAsync(helpWords(program, args), { from: 'user' })
    return exitCode
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      const code = usageExit(thrown)
      const isCommand = (noun: string, verb: string) =>
        program.commands.find((one) => one.name() === noun)?.commands.some((one) => one.name() === verb) === true
      const meant =
        thrown.code === 'commander.unknownCommand' ? familiarCommand(args, isCommand) : optionOf(thrown, args)
      if (isJson && code !== EXIT.ok) {
        process.stderr.write(`${JSON.stringify(usageReport(thrown, meant).body, null, 2)}\n`)
      } else if (meant !== undefined) process.stderr.write(`hal0: did you mean \`${meant}\`?\n`)
      return code
    }
    const report = describeError(await inOwnTimes(thrown, options))
    if (isJson) process.stderr.write(`${JSON.stringify(report.body, null, 2)}\n`)
    else process.stderr.write(errorLines(report))
    if (process.env['HAL0_DEBUG'] === '1' && thrown instanceof Error) process.stderr.write(`${thrown.stack}\n`)
    return report.exitCode
  }
}

/** A key of a lane's file as an option of `lane create` and `lane edit`. */
function optionOf({ code, message }: CommanderError, args: readonly string[]): string | undefined {
  const typed = /'(--[^'=]+)/.exec(message)?.[1]
  if (code !== 'commander.unknownOption' || !args.includes('lane') || typed === undefined) return undefined
  return laneOptionFor(typed)
}

/** What commander would have told in lines of its own. */
function usageReport(thrown: CommanderError, meant: string | undefined): ErrorReport {
  const text = thrown.code === 'commander.help' ? 'A command is missing.' : thrown.message.replace(/^error: /, '')
  const hint = meant === undefined ? '' : `Did you mean \`${meant}\`? `
  return describeError(new UsageError(text, `${hint}\`hal0 --help\` or \`hal0 COMMAND --help\` shows what there is.`))
}

/** Asked-for help and version are fine; help shown because a command was missing is not. */
function usageExit(thrown: CommanderError): ExitCode {
  return thrown.code === 'commander.helpDisplayed' || thrown.code === 'commander.version' ? EXIT.ok : EXIT.usage
}

/** All commands and their options; `end` gets an exit code other than 0 of a command that did not fail. */
export function buildProgram(end: (code: ExitCode) => void): Command {
  const program = new Command('hal0')
    .description('Serves local AI models from named slots behind one OpenAI-compatible gateway.')
    .version(ownVersion(), '-V, --version')
    .option(
      '--home <dir>',
      'folder of the installation (default: HAL0_HOME, else ~/.hal0; for root /etc/hal0 …, and ~/.hal0 is looked at too)',
    )
    .option('--url <url>', 'address of the daemon (default: HAL0_API_URL, else daemon.json of the home)')
    .option('--json', 'print JSON; errors too (on stderr)')
    .showHelpAfterError('(`hal0 --help` or `hal0 COMMAND --help` shows what there is)')
    .hook('preAction', (_program, command) => refuseEmptyWords(command))
    .exitOverride()
  showExamples(
    program,
    [
      'hal0 quickstart                                      everything at once, with the bundled model',
      'hal0 serve                                           the daemon; the rest talks to it',
      'hal0 slot create mine --model hello --profile chat   a slot of your own (hal0 slot --help)',
      'hal0 slot load mine                                  start it',
      'hal0 chat mine "What is a slot?"                     ask it',
    ],
    'Exit codes: 0 ok, 1 failed, 2 usage, 3 daemon unreachable.',
  )

  const port = () =>
    new Option('--port <n>', 'port of the gateway; 0 = any free one').argParser(wholeNumber(0, MAX_PORT))
  const quick = program
    .command('quickstart')
    .description('serve the bundled model, or your own GGUF file, from slot `agent`')
    .addOption(port())
    .option('--model <file>', 'a GGUF file of yours: registers it and binds slot `agent` to it')
    .option('--ask <text>', 'print the answer to this, stop everything, end')
    .action((_options, command: Command) => quickstart(command.optsWithGlobals()))
  showExamples(quick, ['hal0 quickstart', 'hal0 quickstart --model /models/my.gguf', 'hal0 quickstart --ask "Hello"'])
  const server = program
    .command('serve')
    .description('run the daemon in the foreground')
    .option('--host <address>', 'address to listen on (default: [server] host, 127.0.0.1)')
    .addOption(port())
    .option(
      '--insecure',
      'listen beyond this machine although no user is defined: whoever reaches it may do everything',
    )
    .action((_options, command: Command) => serve(command.optsWithGlobals()))
  showExamples(server, ['hal0 serve', 'hal0 serve --port 9000 --home /srv/hal0'])
  const state = program
    .command('status')
    .description('what the daemon says about itself')
    .action((_options, command: Command) => status(command.optsWithGlobals()))
  showExamples(state, ['hal0 status --json'])
  addUsageCommand(program)
  const check = program
    .command('doctor')
    .description('what this machine has, and what each missing thing would give; needs no daemon')
    .action(async (_options, command: Command) => end(await doctor(command.optsWithGlobals())))
  showExamples(check, ['hal0 doctor'])
  const talk = program
    .command('chat')
    .description('ask a slot; a conversation on a terminal without TEXT')
    .argument('[slot]', 'the slot: its name, a further name of it, or a model')
    .argument('[text...]', 'the question (default: what is piped in)')
    .option('--slot <name>', `the slot; then every word is the question (default: ${DEFAULT_SLOT})`)
    .action((first: string | undefined, text: string[], _options, command: Command) =>
      chat(first === undefined ? [] : [first, ...text], command.optsWithGlobals()),
    )
  showExamples(
    talk,
    ['hal0 chat mine "What is a slot?"', 'hal0 chat "What is a slot?"', 'hal0 chat --slot mine < question.txt'],
    `With two words or more the first is the slot, when a slot is called so. One word alone is the question to
${DEFAULT_SLOT}, or, when it is the name of a slot, the slot to talk with.`,
  )
  addSlotCommands(program)
  addModelCommands(program)
  addProfileCommands(program)
  addRunnerCommands(program)
  addRouteCommand(program)
  addLaneCommands(program, end)
  addReservationCommands(program, end)
  addUserCommands(program)
  addKeyCommands(program)
  addConfigCommands(program, end)
  configureHelp(program)
  return program
}

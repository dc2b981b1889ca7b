import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { DEFAULT_DRAIN_S, MAX_DRAIN_S } from '../contract/limits.ts'
import { DEFAULT_LOG_LINES, MAX_LOG_LINES } from '../contract/logs.ts'
import { DEFAULT_SLOT } from '../contract/slot-row.ts'
import { ownVersion } from '../version.ts'
import { configureHelp, helpWords } from './command-help.ts'
import { chat } from './commands/chat.ts'
import { doctor } from './commands/doctor.ts'
import { quickstart } from './commands/quickstart.ts'
import { serve } from './commands/serve.ts'
import { slotLoad, slotRestart, slotUnload } from './commands/slot-act.ts'
import { slotList } from './commands/slot-list.ts'
import { slotLogs } from './commands/slot-logs.ts'
import { slotShow } from './commands/slot-show.ts'
import { status } from './commands/status.ts'
import { describeError, errorLines } from './describe-error.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

const MAX_PORT = 65_535

/** Runs one command line (without `node` and script) and resolves with its exit code; never rejects. Source: SPEC 18. */
export async function runCommandLine(args: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = buildProgram((code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(helpWords(program, args), { from: 'user' })
    return exitCode
  } catch (thrown) {
    if (thrown instanceof CommanderError) return usageExit(thrown)
    const report = describeError(thrown)
    if (program.opts()['json'] === true) process.stderr.write(`${JSON.stringify(report.body, null, 2)}\n`)
    else process.stderr.write(errorLines(report))
    if (process.env['HAL0_DEBUG'] === '1' && thrown instanceof Error) process.stderr.write(`${thrown.stack}\n`)
    return report.exitCode
  }
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
    .addHelpText('after', '\nExit codes: 0 ok, 1 failed, 2 usage, 3 daemon unreachable.')
    .exitOverride()

  const port = () =>
    new Option('--port <n>', 'port of the gateway; 0 = any free one').argParser(wholeNumber(0, MAX_PORT))
  program
    .command('quickstart')
    .description('serve the bundled model, or your own GGUF file, from slot `agent`')
    .addOption(port())
    .option('--model <file>', 'a GGUF file of yours: registers it and binds slot `agent` to it')
    .option('--ask <text>', 'print the answer to this, stop everything, end')
    .action((_options, command: Command) => quickstart(command.optsWithGlobals()))
  program
    .command('serve')
    .description('run the daemon in the foreground')
    .option('--host <address>', 'address to listen on (default: [server] host, 127.0.0.1)')
    .addOption(port())
    .action((_options, command: Command) => serve(command.optsWithGlobals()))
  program
    .command('status')
    .description('what the daemon says about itself')
    .action((_options, command: Command) => status(command.optsWithGlobals()))
  program
    .command('doctor')
    .description('what this machine has, and what each missing thing would give; needs no daemon')
    .action(async (_options, command: Command) => end(await doctor(command.optsWithGlobals())))
  program
    .command('chat')
    .description('ask a slot; a conversation on a terminal without TEXT')
    .argument('[text...]', 'the question; else what is piped in')
    .option('--slot <name>', 'a slot, or a model that a slot has', DEFAULT_SLOT)
    .action((words: string[], _options, command: Command) => chat(words, command.optsWithGlobals()))
  addSlotCommands(program)
  configureHelp(program)
  return program
}

function addSlotCommands(program: Command): void {
  const slot = program.command('slot').description('look at and run slots')
  const wait = () =>
    new Option('--wait <seconds>', 'wait at most so long, 0 = not at all (default: until it is done)').argParser(
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
  const drain = () =>
    new Option(
      '--drain <seconds>',
      `let running requests end for so long, then cut them (default: ${DEFAULT_DRAIN_S})`,
    ).argParser(wholeNumber(0, MAX_DRAIN_S))
  slot
    .command('list')
    .description('all slots')
    .action((_options, command: Command) => slotList(command.optsWithGlobals()))
  slot
    .command('show <name>')
    .description('everything about one slot')
    .action((name: string, _options, command: Command) => slotShow(name, command.optsWithGlobals()))
  slot
    .command('load <name>')
    .description('start the engine and load the model')
    .addOption(wait())
    .action((name: string, _options, command: Command) => slotLoad(name, command.optsWithGlobals()))
  slot
    .command('unload <name>')
    .description('let requests end, then stop the engine')
    .addOption(wait())
    .addOption(drain())
    .action((name: string, _options, command: Command) => slotUnload(name, command.optsWithGlobals()))
  slot
    .command('restart <name>')
    .description('unload and load again')
    .addOption(wait())
    .addOption(drain())
    .action((name: string, _options, command: Command) => slotRestart(name, command.optsWithGlobals()))
  slot
    .command('logs <name>')
    .description("the engine's own output")
    .addOption(
      new Option('-n, --lines <n>', 'how many of the last lines')
        .default(DEFAULT_LOG_LINES)
        .argParser(wholeNumber(0, MAX_LOG_LINES)),
    )
    .option('-f, --follow', 'go on with each new line')
    .action((name: string, _options, command: Command) => slotLogs(name, command.optsWithGlobals()))
}

function wholeNumber(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low && value <= high) return value
    const range = high === Number.MAX_SAFE_INTEGER ? `from ${low} on` : `from ${low} to ${high}`
    throw new InvalidArgumentError(`Expected a whole number ${range}.`)
  }
}

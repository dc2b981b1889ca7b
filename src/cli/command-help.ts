import { type Command, Option } from 'commander'

/** Commands that are the daemon: the address of another one means nothing to them. */
const DAEMON_COMMANDS = new Set(['quickstart', 'serve'])

/** What `--home` is by default where it is never the system's folders. */
const PERSONAL_HOME = new Option('--home <dir>', 'folder of the installation (default: HAL0_HOME, else ~/.hal0)')

/** Lists the global options at each command, as far as that command takes them. To be called once all commands are there. */
export function configureHelp(program: Command): void {
  const options = (command: Command) =>
    program.options
      .filter(
        (option) => option.long !== '--version' && !(option.long === '--url' && DAEMON_COMMANDS.has(command.name())),
      )
      .map((option) => (option.long === '--home' && command.name() === 'quickstart' ? PERSONAL_HOME : option))
  forEachCommand(program, (command) =>
    command.configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions: (shown) => (shown === program ? [] : options(shown)),
    }),
  )
}

/** Complaints about wrong usage are not printed: whoever runs the program tells them. */
export function silenceUsage(program: Command): void {
  forEachCommand(program, (command) => command.configureOutput({ writeErr: () => {} }))
}

/** `help slot load` as `slot load --help`: commander's own help command looks at one word only. Other words stay as they are. */
export function helpWords(program: Command, args: readonly string[]): string[] {
  const [first, ...words] = args
  if (first !== 'help') return [...args]
  let command: Command | undefined = program
  for (const word of words) command = command?.commands.find((one) => one.name() === word)
  // Without --help a name nobody knows gets the usual complaint.
  return command === undefined ? words : [...words, '--help']
}

function forEachCommand(command: Command, act: (command: Command) => void): void {
  act(command)
  for (const child of command.commands) forEachCommand(child, act)
}

/** Shows how a command is typed, below its `--help`; `more`: a line for what comes next. */
export function showExamples(command: Command, lines: readonly string[], more?: string): void {
  const title = lines.length === 1 ? 'Example:' : 'Examples:'
  const text = [`\n${title}`, ...lines.map((line) => `  ${line}`), ...(more === undefined ? [] : ['', more])]
  command.addHelpText('after', text.join('\n'))
}

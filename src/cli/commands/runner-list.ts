import type { Command } from 'commander'
import { showExamples } from '../command-help.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

/** `hal0 runner …`. */
export function addRunnerCommands(program: Command): void {
  const runner = program.command('runner').description('engine builds that slots run on')
  const list = runner
    .command('list')
    .description('all engine builds, and why one cannot be used')
    .action((_options, command: Command) => runnerList(command.optsWithGlobals()))
  showExamples(list, ['hal0 runner list'])
  showExamples(runner, ['hal0 runner list', 'hal0 slot create mine --model hello --binary embedded'])
}

/** `hal0 runner list`. JSON: `{runners: [row, …]}`. */
async function runnerList(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const runners = await (await connect(globals)).runners()
  output.result({ runners }, () =>
    output.table(
      ['KEY', 'TITLE', 'TYPES', 'VERSION', 'PROGRAM', 'PROBLEM'],
      runners.map(({ key, title, types, version, command, problem }) => [
        key,
        title,
        types.join(', '),
        version ?? '-',
        command?.join(' ') ?? '-',
        problem ?? '',
      ]),
    ),
  )
}

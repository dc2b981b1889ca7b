import { type Command, Option } from 'commander'
import {
  MAX_CTX_TOKENS,
  MIN_CTX_TOKENS,
  REASONING_EFFORTS,
  SPECULATION_MODES,
  VISION_MODES,
} from '../../contract/tune.ts'
import { showExamples } from '../command-help.ts'
import { collect, numberOrNothing, onOff } from '../option-parsers.ts'
import { profileCreate, profileDelete, profileEdit } from './profile-edit.ts'
import { profileExport, profileImport } from './profile-exchange.ts'
import { profileList, profileShow } from './profile-show.ts'

/** `hal0 profile …`. */
export function addProfileCommands(program: Command): void {
  const profile = program.command('profile').description('tunes that slots run with: engine flags, context, thinking')
  showExamples(profile, [
    'hal0 profile list',
    'hal0 profile create long --from chat --ctx-size 65536',
    'hal0 slot edit mine --profile long',
  ])
  const list = profile
    .command('list')
    .description('all profiles: those that hal0 brings, then your own')
    .action((_options, command: Command) => profileList(command.optsWithGlobals()))
  showExamples(list, ['hal0 profile list'])
  const show = profile
    .command('show <name>')
    .description('everything about one profile')
    .action((name: string, _options, command: Command) => profileShow(name, command.optsWithGlobals()))
  showExamples(show, ['hal0 profile show chat'])
  const create = addTuneOptions(
    profile
      .command('create <name>')
      .description('make a profile')
      .option('--from <profile>', 'take what you do not say from this one'),
  ).action((name: string, _options, command: Command) => profileCreate(name, command.optsWithGlobals()))
  showExamples(create, [
    'hal0 profile create long --from chat --ctx-size 65536',
    'hal0 profile create cool --flags "--temp 0.2 --top-k 20"',
  ])
  const edit = addTuneOptions(
    profile.command('edit <name>').description('change a profile of your own; "" clears a key'),
  )
    .option('--unset <key>', 'take a key out; may be given several times', collect)
    .action((name: string, _options, command: Command) => profileEdit(name, command.optsWithGlobals()))
  showExamples(edit, ['hal0 profile edit long --ctx-size 32768', 'hal0 profile edit long --flags "" --unset intent'])
  const remove = profile
    .command('delete <name>')
    .description('delete a profile of your own that no slot uses')
    .action((name: string, _options, command: Command) => profileDelete(name, command.optsWithGlobals()))
  showExamples(remove, ['hal0 profile delete long'])
  const exporting = profile
    .command('export')
    .description('print profiles as one document for another hal0')
    .argument('[name...]', 'which (default: all of your own)')
    .option('-o, --output <file>', 'write it to a file')
    .action((names: string[], _options, command: Command) => profileExport(names, command.optsWithGlobals()))
  showExamples(exporting, ['hal0 profile export long -o long.json'])
  const importing = profile
    .command('import <file>')
    .description('take the profiles of an export (- = what is piped in)')
    .option('--overwrite', 'replace profiles of the same name (default: they stay)')
    .action((file: string, _options, command: Command) => profileImport(file, command.optsWithGlobals()))
  showExamples(importing, ['hal0 profile import long.json'])
}

function addTuneOptions(command: Command): Command {
  const number = (flags: string, text: string, low: number, high: number) =>
    command.addOption(new Option(flags, text).argParser(numberOrNothing(low, high)))
  command.option('--flags <words>', 'engine flags in one string, for example "--temp 0.2 --top-k 20"')
  number('--ctx-size <tokens>', 'context window', MIN_CTX_TOKENS, MAX_CTX_TOKENS)
  command.option('--speculation <mode>', SPECULATION_MODES.join(', '))
  command.option('--vision <mode>', VISION_MODES.join(', '))
  command.addOption(new Option('--thinking <on|off>', 'whether it thinks before it answers').argParser(onOff))
  command.option('--effort <level>', `how hard it thinks: ${REASONING_EFFORTS.join(', ')}`)
  number('--budget <tokens>', 'most tokens to think with; -1 = no limit', -1, Number.MAX_SAFE_INTEGER)
  command.option('--runner <key>', 'the engine build it is for (`hal0 runner list`)')
  command.option('--intent <text>', 'one line for people: what it is for')
  return command
}

import { type Command, Option } from 'commander'
import { DEFAULT_DRAIN_S, MAX_DRAIN_S } from '../../contract/limits.ts'
import { DEFAULT_LOG_LINES, MAX_LOG_LINES } from '../../contract/logs.ts'
import { showExamples } from '../command-help.ts'
import { collect, wholeNumber } from '../option-parsers.ts'
import { addSlotKeyOptions } from '../slot-payload.ts'
import { slotLoad, slotRestart, slotSwap, slotUnload } from './slot-act.ts'
import { slotCreate } from './slot-create.ts'
import { slotEdit } from './slot-edit.ts'
import { slotList } from './slot-list.ts'
import { slotLogs } from './slot-logs.ts'
import { slotDelete, slotRename, slotReseed } from './slot-remove.ts'
import { slotResolved } from './slot-resolved.ts'
import { slotShow } from './slot-show.ts'

const wait = () =>
  new Option('--wait <seconds>', 'wait at most so long, 0 = not at all (default: until it is done)').argParser(
    wholeNumber(0, Number.MAX_SAFE_INTEGER),
  )
const drain = () =>
  new Option(
    '--drain <seconds>',
    `let running requests end for so long, then cut them (default: ${DEFAULT_DRAIN_S})`,
  ).argParser(wholeNumber(0, MAX_DRAIN_S))

/** `hal0 slot …`. */
export function addSlotCommands(program: Command): void {
  const slot = program.command('slot').description('named places that run a model: make, run, look at')
  showExamples(slot, [
    'hal0 slot create mine --model hello --profile chat',
    'hal0 slot load mine',
    'hal0 chat mine "What is a slot?"',
  ])
  addViews(slot)
  addEdits(slot)
  addRuns(slot)
}

function addViews(slot: Command): void {
  const list = slot
    .command('list')
    .description('all slots')
    .action((_options, command: Command) => slotList(command.optsWithGlobals()))
  showExamples(list, ['hal0 slot list', 'hal0 slot list --json'])
  const show = slot
    .command('show <name>')
    .alias('status')
    .description('everything about one slot')
    .action((name: string, _options, command: Command) => slotShow(name, command.optsWithGlobals()))
  showExamples(show, ['hal0 slot show mine'])
  const resolved = slot
    .command('resolved <name>')
    .description('the command a start now would run, flag by flag, with who set each')
    .option('--argv', 'only the command, quoted for a shell')
    .action((name: string, _options, command: Command) => slotResolved(name, command.optsWithGlobals()))
  showExamples(resolved, ['hal0 slot resolved mine', 'hal0 slot resolved mine --argv'])
  const logs = slot
    .command('logs <name>')
    .description("the engine's own output")
    .addOption(
      new Option('-n, --lines <n>', 'how many of the last lines')
        .default(DEFAULT_LOG_LINES)
        .argParser(wholeNumber(0, MAX_LOG_LINES)),
    )
    .option('-f, --follow', 'go on with each new line')
    .action((name: string, _options, command: Command) => slotLogs(name, command.optsWithGlobals()))
  showExamples(logs, ['hal0 slot logs mine -n 50 -f'])
}

function addEdits(slot: Command): void {
  const create = addSlotKeyOptions(
    slot.command('create <name>').description('make a slot; it is offline until you load it'),
  ).action((name: string, _options, command: Command) => slotCreate(name, command.optsWithGlobals()))
  showExamples(
    create,
    [
      'hal0 slot create mine --model hello --profile chat',
      'hal0 slot create claude --model hello --binary cpu   # your own llama-server: /v1/messages, /v1/responses too',
      'hal0 slot create embed --type embedding --model ID   # for /v1/embeddings',
      'hal0 slot create big --model org/name.q8 --device gpu-cuda --ctx-size 32768 --autoload',
    ],
    'Then: hal0 slot load mine && hal0 chat mine "What is a slot?"',
  )
  const edit = addSlotKeyOptions(
    slot.command('edit <name>').description('change a slot; what runs goes on, and it says what needs a restart'),
  )
    .option('--no-autoload', 'do not load it when the daemon starts')
    .option('--no-pinned', 'it may make room for others')
    .option('--unset <key>', 'take a key out of the slot file; may be given several times', collect)
    .action((name: string, _options, command: Command) => slotEdit(name, command.optsWithGlobals()))
  showExamples(edit, [
    'hal0 slot edit mine --profile coding --ctx-size 16384',
    'hal0 slot edit mine --profile "" --unset tune.ctx_size',
  ])
  const remove = slot
    .command('delete <name>')
    .description('stop a slot and delete it')
    .option('--force', 'also one that is pinned, or that hal0 made')
    .addOption(drain())
    .action((name: string, _options, command: Command) => slotDelete(name, command.optsWithGlobals()))
  showExamples(remove, ['hal0 slot delete mine', 'hal0 slot delete agent --force --drain 0'])
  const rename = slot
    .command('rename <name> <new-name>')
    .description('give a slot that is offline another name')
    .action((name: string, to: string, _options, command: Command) => slotRename(name, to, command.optsWithGlobals()))
  showExamples(rename, ['hal0 slot rename mine ours'])
  const reseed = slot
    .command('reseed')
    .description('make the slots that hal0 brings and that are missing')
    .argument('[name...]', 'only these; deleted ones come back too')
    .action((names: string[], _options, command: Command) => slotReseed(names, command.optsWithGlobals()))
  showExamples(reseed, ['hal0 slot reseed', 'hal0 slot reseed agent coder'])
}

function addRuns(slot: Command): void {
  const load = slot
    .command('load <name>')
    .description('start the engine and load the model')
    .addOption(wait())
    .action((name: string, _options, command: Command) => slotLoad(name, command.optsWithGlobals()))
  showExamples(load, ['hal0 slot load mine'])
  const unload = slot
    .command('unload <name>')
    .description('let requests end, then stop the engine')
    .addOption(wait())
    .addOption(drain())
    .option('--force', 'also one that is pinned')
    .action((name: string, _options, command: Command) => slotUnload(name, command.optsWithGlobals()))
  showExamples(unload, ['hal0 slot unload mine --drain 5', 'hal0 slot unload agent --force'])
  const restart = slot
    .command('restart <name>')
    .description('unload and load again; what was changed takes effect')
    .addOption(wait())
    .addOption(drain())
    .action((name: string, _options, command: Command) => slotRestart(name, command.optsWithGlobals()))
  showExamples(restart, ['hal0 slot restart mine'])
  const swap = slot
    .command('swap <name> <model>')
    .description('run another model in a slot, with the profile that model prefers if it fits')
    .option('--persist', 'keep it: write it to the slot file (default: until the slot is unloaded)')
    .addOption(wait())
    .addOption(drain())
    .action((name: string, model: string, _options, command: Command) =>
      slotSwap(name, model, command.optsWithGlobals()),
    )
  showExamples(swap, ['hal0 slot swap mine org/name.q8 --persist'])
}

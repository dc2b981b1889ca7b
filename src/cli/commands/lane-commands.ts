import type { Command } from 'commander'
import { showExamples } from '../command-help.ts'
import type { ExitCode } from '../exit-codes.ts'
import { addLaneKeyOptions } from '../lane-payload.ts'
import { collect } from '../option-parsers.ts'
import { TIME_FORMS } from '../rules/read-time.ts'
import { addTimeZoneOption } from '../times.ts'
import { laneCalendar, laneChoose, laneClear, laneReload } from './lane-act.ts'
import { laneCreate } from './lane-create.ts'
import { laneDelete, laneEdit } from './lane-edit.ts'
import { laneExplain, laneTimeline } from './lane-plan.ts'
import { laneList, laneShow } from './lane-show.ts'
import { laneSimulate } from './lane-simulate.ts'

/** `hal0 lane …`. `end`: what the shell sees, where it is not 0. */
export function addLaneCommands(program: Command, end: (code: ExitCode) => void): void {
  const lane = program.command('lane').description('GPUs under a timetable: what runs when, and why')
  showExamples(lane, [
    'hal0 lane create gpu0 --device gpu-cuda --gpus 0 --model hello',
    'hal0 reservation add gpu0 --start 18:00 --for 2h --model org/name.q8',
    'hal0 lane explain gpu0',
  ])
  addViews(lane)
  addChoices(lane, end)
  addEdits(lane)
  const simulate = lane
    .command('simulate <file>')
    .description(
      'play a scripted day by the real rules and print its timeline; needs no daemon; ends with 2 when the file has mistakes',
    )
    .action(async (file: string, _options, command: Command) =>
      end(await laneSimulate(file, command.optsWithGlobals())),
    )
  showExamples(simulate, ['hal0 lane simulate a-day.toml', 'hal0 lane simulate a-day.toml --json'])
}

function addViews(lane: Command): void {
  const list = addTimeZoneOption(lane.command('list').description('all lanes')).action((_options, command: Command) =>
    laneList(command.optsWithGlobals()),
  )
  showExamples(list, ['hal0 lane list', 'hal0 lane list --json'])
  const show = addTimeZoneOption(lane.command('show <name>').description('everything about one lane')).action(
    (name: string, _options, command: Command) => laneShow(name, command.optsWithGlobals()),
  )
  showExamples(show, ['hal0 lane show gpu0'])
  const explain = addTimeZoneOption(
    lane
      .command('explain <name>')
      .description('which rule decides what it runs, what it would take to change that, and the plan for 24 hours')
      .option('--at <time>', 'at this time (default: now)'),
  ).action((name: string, _options, command: Command) => laneExplain(name, command.optsWithGlobals()))
  showExamples(
    explain,
    ['hal0 lane explain gpu0', 'hal0 lane explain gpu0 --at "tomorrow 9:00"'],
    `Times: ${TIME_FORMS}.`,
  )
  const timeline = addTimeZoneOption(
    lane
      .command('timeline <name>')
      .description('what it did, what is booked, what is planned')
      .option('--from <time>', 'from this time on; a bare 8:00 is of today')
      .option('--to <time>', 'up to this time'),
  ).action((name: string, _options, command: Command) => laneTimeline(name, command.optsWithGlobals()))
  showExamples(
    timeline,
    ['hal0 lane timeline gpu0', 'hal0 lane timeline gpu0 --from today --to +2d'],
    `Times: ${TIME_FORMS}.`,
  )
  const calendar = lane
    .command('calendar <name>')
    .description('the address of its iCalendar feed, with a new token; the one before ends')
    .action((name: string, _options, command: Command) => laneCalendar(name, command.optsWithGlobals()))
  showExamples(calendar, ['hal0 lane calendar gpu0'])
}

function addChoices(lane: Command, end: (code: ExitCode) => void): void {
  const load = addTimeZoneOption(
    lane
      .command('load <name> <model>')
      .description('run this model while nobody has booked the lane; admins only; ends with 1 when it will never count')
      .option('--profile <profile>', 'with this profile (default: the one of the model)')
      .option('--until <time>', 'up to this time (default: until the next booking starts)'),
  ).action(async (name: string, model: string, _options, command: Command) =>
    end(await laneChoose(name, model, command.optsWithGlobals())),
  )
  showExamples(load, ['hal0 lane load gpu0 org/name.q8', 'hal0 lane load gpu0 hello --profile chat --until 18:00'])
  const unload = addTimeZoneOption(
    lane
      .command('unload <name>')
      .description('run nothing while nobody has booked the lane; admins only')
      .option('--until <time>', 'up to this time (default: until the next booking starts)'),
  ).action(async (name: string, _options, command: Command) =>
    end(await laneChoose(name, null, command.optsWithGlobals())),
  )
  showExamples(unload, ['hal0 lane unload gpu0 --until +2h'])
  const clear = lane
    .command('clear <name>')
    .description('take back what `lane load` or `lane unload` chose')
    .action((name: string, _options, command: Command) => laneClear(name, command.optsWithGlobals()))
  showExamples(clear, ['hal0 lane clear gpu0'])
  const reload = lane
    .command('reload <name>')
    .description('start its engine anew at once, whoever uses it; admins only')
    .action((name: string, _options, command: Command) => laneReload(name, command.optsWithGlobals()))
  showExamples(reload, ['hal0 lane reload gpu0'])
}

function addEdits(lane: Command): void {
  const create = addLaneKeyOptions(
    lane.command('create <name>').description('make a lane; waits up to a minute until its default is ready'),
  )
    .option('--no-wait', 'do not wait for its default')
    .action((name: string, _options, command: Command) => laneCreate(name, command.optsWithGlobals()))
  showExamples(create, [
    'hal0 lane create gpu0 --device gpu-cuda --gpus 0 --model hello',
    'hal0 lane create both --device gpu-rocm --gpus 0,1 --approval required --allow-exclusive --max-hours 8',
  ])
  const edit = addLaneKeyOptions(
    lane.command('edit <name>').description('change keys of a lane; "" clears one, the rest stays'),
  )
    .option('--no-allow-exclusive', 'it may not be booked empty')
    .option('--unset <key>', 'take a key out of the lane file; may be given several times', collect)
    .action((name: string, _options, command: Command) => laneEdit(name, command.optsWithGlobals()))
  showExamples(edit, ['hal0 lane edit gpu0 --model org/name.q8 --max-hours 8', 'hal0 lane edit gpu0 --model ""'])
  const remove = lane
    .command('delete <name>')
    .description('delete a lane; what it runs is stopped')
    .action((name: string, _options, command: Command) => laneDelete(name, command.optsWithGlobals()))
  showExamples(remove, ['hal0 lane delete gpu0'])
}

import { type Command, Option } from 'commander'
import { RESERVATION_STATUSES } from '../../contract/reservation.ts'
import { showExamples } from '../command-help.ts'
import type { ExitCode } from '../exit-codes.ts'
import { collect, collectOf, wholeNumber } from '../option-parsers.ts'
import { DURATION_FORMS } from '../rules/read-duration.ts'
import { TIME_FORMS } from '../rules/read-time.ts'
import { addTimeZoneOption } from '../times.ts'
import {
  reservationApprove,
  reservationCancel,
  reservationEnd,
  reservationExtend,
  reservationReject,
} from './reservation-act.ts'
import { reservationAdd } from './reservation-add.ts'
import { reservationEdit } from './reservation-edit.ts'
import { reservationList, reservationNotices, reservationShow } from './reservation-show.ts'

const FORMS = `Times: ${TIME_FORMS}.\nLengths: ${DURATION_FORMS}.`

/** `hal0 reservation …`; `end` gets the exit code of a check that found something in the way. */
export function addReservationCommands(program: Command, end: (code: ExitCode) => void): void {
  const reservation = program.command('reservation').description('bookings of lanes: make, move, end, approve')
  showExamples(reservation, [
    'hal0 reservation list --mine',
    'hal0 reservation add gpu0 --start 18:00 --for 2h --model org/name.q8',
    'hal0 reservation extend ID --by 30m',
  ])
  addViews(reservation)
  addBooking(reservation, end)
  addChanges(reservation)
  addDecisions(reservation)
}

function addViews(reservation: Command): void {
  const list = addTimeZoneOption(
    reservation
      .command('list')
      .description('bookings that run or are to come, in order of their start')
      .option('--lane <lane>', 'of this lane')
      .option('--mine', 'own ones, and those one is a member of')
      .addOption(
        new Option('--status <status>', 'only of this status, such as pending; may be given several times').argParser(
          collectOf(RESERVATION_STATUSES),
        ),
      )
      .option('--all', 'those that are over too'),
  ).action((_options, command: Command) => reservationList(command.optsWithGlobals()))
  showExamples(list, [
    'hal0 reservation list',
    'hal0 reservation list --status pending',
    'hal0 reservation list --lane gpu0 --mine --all',
  ])
  const show = addTimeZoneOption(reservation.command('show <id>').description('everything about one booking')).action(
    (id: string, _options, command: Command) => reservationShow(id, command.optsWithGlobals()),
  )
  showExamples(show, ['hal0 reservation show ID'])
  const notices = addTimeZoneOption(
    reservation
      .command('notices')
      .description('what you were told of your bookings, newest first')
      .option('--read', 'they count as read from now on'),
  ).action((_options, command: Command) => reservationNotices(command.optsWithGlobals()))
  showExamples(notices, ['hal0 reservation notices', 'hal0 reservation notices --read'])
}

/** What a booking is for; `add` and `edit` take the same. */
function addUseOptions(command: Command): Command {
  return command
    .option('--end <time>', 'its end; a bare 20:00 is the first after the start')
    .option('--for <length>', 'or how long it lasts')
    .option('--model <id>', 'the model that is loaded by then (default: what the lane runs anyway)')
    .option('--profile <name>', 'with this profile (default: the one of the model)')
    .option('--exclusive', 'nothing is loaded: the GPUs are for your own programs')
    .option('--title <text>', 'what it is for')
    .option('--member <user>', 'who may use it too; may be given several times', collect)
}

function addBooking(reservation: Command, end: (code: ExitCode) => void): void {
  const add = addTimeZoneOption(
    addUseOptions(
      reservation
        .command('add <lane>')
        .description('book a lane, once or as a repeat (then all of it or nothing)')
        .requiredOption('--start <time>', 'its start'),
    )
      .option('--owner <user>', 'for somebody else; admins only')
      .addOption(new Option('--repeat <rhythm>', 'book it again and again').choices(['daily', 'weekly']))
      .addOption(new Option('--times <n>', 'so often in all').argParser(wholeNumber(2, 366)))
      .option('--until <date>', 'or up to this day: 2026-12-24')
      .option('--days <days>', 'of a weekly one, for example mon,wed (default: the day of the start)')
      .option('--check', 'only tell what it would meet; ends with 1 when it would fail'),
  ).action(async (lane: string, _options, command: Command) =>
    end(await reservationAdd(lane, command.optsWithGlobals())),
  )
  showExamples(
    add,
    [
      'hal0 reservation add gpu0 --start 18:00 --for 2h --model org/name.q8 --title "Demo"',
      'hal0 reservation add gpu0 --start "tomorrow 9:00" --end 17:00 --exclusive --check',
      'hal0 reservation add gpu0 --start 2026-12-07T09:00 --for 1h30m --repeat weekly --days mon,wed --times 8',
    ],
    FORMS,
  )
}

function addChanges(reservation: Command): void {
  const edit = addTimeZoneOption(
    addUseOptions(
      reservation
        .command('edit <id>')
        .description('move or change a booking; what is not said stays')
        .option('--start <time>', 'another start; alone it moves the booking as it is'),
    )
      .option('--no-exclusive', 'a model is loaded after all')
      .option('--no-members', 'nobody besides the owner may use it'),
  ).action((id: string, _options, command: Command) => reservationEdit(id, command.optsWithGlobals()))
  showExamples(
    edit,
    ['hal0 reservation edit ID --start "tomorrow 10:00"', 'hal0 reservation edit ID --end 21:00 --member anna'],
    FORMS,
  )
  const extend = addTimeZoneOption(
    reservation
      .command('extend <id>')
      .description('let a booking end later')
      .requiredOption('--by <length>', 'by so long'),
  ).action((id: string, _options, command: Command) => reservationExtend(id, command.optsWithGlobals()))
  showExamples(extend, ['hal0 reservation extend ID --by 30m'], `Lengths: ${DURATION_FORMS}.`)
  const stop = addTimeZoneOption(
    reservation.command('end <id>').description('end a booking that runs; the lane is free at once'),
  ).action((id: string, _options, command: Command) => reservationEnd(id, command.optsWithGlobals()))
  showExamples(stop, ['hal0 reservation end ID'])
  const cancel = addTimeZoneOption(
    reservation
      .command('cancel <id>')
      .description('cancel a booking; one that runs ends now')
      .option('--series', 'also the others of its series that are still to come'),
  ).action((id: string, _options, command: Command) => reservationCancel(id, command.optsWithGlobals()))
  showExamples(cancel, ['hal0 reservation cancel ID', 'hal0 reservation cancel ID --series'])
}

function addDecisions(reservation: Command): void {
  const approve = addTimeZoneOption(
    reservation
      .command('approve <id>')
      .description('approve a booking that waits for it; admins only')
      .option('--series', 'all of its series'),
  ).action((id: string, _options, command: Command) => reservationApprove(id, command.optsWithGlobals()))
  showExamples(approve, ['hal0 reservation approve ID'])
  const reject = addTimeZoneOption(
    reservation
      .command('reject <id>')
      .description('reject a booking that waits for approval; admins only')
      .option('--reason <text>', 'why; its owner is told')
      .option('--series', 'all of its series'),
  ).action((id: string, _options, command: Command) => reservationReject(id, command.optsWithGlobals()))
  showExamples(reject, ['hal0 reservation reject ID --reason "The lab needs it then"'])
}

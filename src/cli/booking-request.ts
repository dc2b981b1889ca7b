import { type ReservationRequest, reservationRequestSchema } from '../contract/reservation.ts'
import { isoTime } from '../kernel/units.ts'
import { checked } from './checked.ts'
import { UsageError } from './cli-error.ts'
import { dayText } from './rules/time-text.ts'
import { wallOf, type Zone } from './rules/zone.ts'
import { readMinutes, type Times } from './times.ts'

/** `hal0 reservation add` as typed. */
export interface BookingOptions {
  readonly start: string
  readonly end?: string
  readonly for?: string
  readonly model?: string
  readonly profile?: string
  readonly exclusive?: boolean
  readonly title?: string
  readonly member?: readonly string[]
  readonly owner?: string
  readonly repeat?: 'daily' | 'weekly'
  readonly times?: number
  readonly until?: string
  readonly days?: string
}

/** The request that the options stand for; a bare `--end 20:00` is the first after the start. Errors: UsageError. */
export function bookingRequestOf(lane: string, options: BookingOptions, times: Times): ReservationRequest {
  const { model, profile, title, owner, exclusive, member } = options
  const startMs = times.read('--start', options.start)
  if ((options.end === undefined) === (options.for === undefined)) {
    throw new UsageError('A booking needs either --end or --for.', 'Write --end 20:00, or --for 2h.')
  }
  const until = options.end === undefined ? undefined : times.read('--end', options.end, startMs + 1)
  if (until !== undefined && until <= startMs) throw endBeforeStart()
  const said = Object.entries({ model, profile, title, owner, exclusive, members: member })
  return checked(reservationRequestSchema, {
    ...Object.fromEntries(said.filter(([, value]) => value !== undefined)),
    lane,
    start: isoTime(startMs),
    ...(until === undefined ? { minutes: readMinutes('--for', options.for ?? '') } : { end: isoTime(until) }),
    time_zone: times.zone.name,
    ...repeatOf(options),
  })
}

/** A bare clock as the end, such as 11:00, that is of the day after the start: what is to say of it; undefined = it is not so. */
export function nextDayText(
  typed: string | undefined,
  window: { readonly start: string; readonly end: string },
  zone: Zone,
): string | undefined {
  if (typed === undefined || !/^\d{1,2}:\d{2}/.test(typed.trim())) return undefined
  const [startDay, endDay] = [window.start, window.end].map((iso) => dayText(wallOf(new Date(iso).getTime(), zone)))
  return endDay === startDay ? undefined : `--end ${typed.trim()}: it ends on ${endDay}, the next day`
}

export function endBeforeStart(): UsageError {
  return new UsageError('--end is not after the start.', 'Name a later time, with its day where it is another.')
}

/** Errors: UsageError (words of a repeat without one, or half of one). */
function repeatOf({ repeat, times: count, until, days }: BookingOptions): { readonly repeat?: object } {
  if (repeat === undefined) {
    const stray = Object.entries({ '--times': count, '--until': until, '--days': days }).find(
      ([, value]) => value !== undefined,
    )
    if (stray === undefined) return {}
    throw new UsageError(`${stray[0]} is about a repeat.`, 'Write --repeat daily or --repeat weekly with it.')
  }
  if ((count === undefined) === (until === undefined)) {
    throw new UsageError(
      'A repeat needs either --times or --until.',
      'Write --times 4, or --until with the last day: --until 2026-12-24.',
    )
  }
  if (days !== undefined && repeat === 'daily') {
    throw new UsageError('--days goes with --repeat weekly.', 'Write --repeat weekly --days mon,wed.')
  }
  return {
    repeat: {
      every: repeat === 'daily' ? 'day' : 'week',
      ...(count === undefined ? {} : { count }),
      ...(until === undefined ? {} : { until }),
      ...(days === undefined
        ? {}
        : {
            days: days
              .toLowerCase()
              .split(',')
              .map((day) => day.trim()),
          }),
    },
  }
}

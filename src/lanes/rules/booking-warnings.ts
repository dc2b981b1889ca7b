import type { BookingWarning } from '../../contract/reservation.ts'
import { isoTime, retryAfterSeconds } from '../../kernel/units.ts'
import { type Booking, targetOf } from './booking.ts'
import type { BrokenLimit } from './booking-limits.ts'
import type { BookingWindow } from './booking-window.ts'
import { firstEndingAfter } from './find-overlaps.ts'
import { type LaneTarget, sameTarget, targetText } from './lane-target.ts'

export interface WarningQuestion {
  /** What is wanted, in order. */
  readonly windows: readonly BookingWindow[]
  readonly use: Booking['use']
  /** Blocking ones of the lane, in order; the wanted ones may be among them. */
  readonly bookings: readonly Booking[]
  /** How long a load of this target takes, ms; of nothing: the stop. */
  readonly estimateMs: (target: LaneTarget) => number
  readonly exceedsVram: boolean
  /** It was never loaded on this lane, so that its time is a guess. */
  readonly neverLoaded: boolean
  readonly needsApproval: boolean
  /** Limits that are broken by somebody who may. */
  readonly outside: readonly BrokenLimit[]
  /** What clocks do to it. */
  readonly notes: readonly string[]
}

/** More of one kind are counted only. */
const MAX_NAMED = 3

/** What is worth knowing of a booking, and forbids nothing. Source: SPEC 13 "check". */
export function bookingWarnings(question: WarningQuestion): readonly BookingWarning[] {
  const { use, outside, notes } = question
  const warnings: BookingWarning[] = []
  const add = (kind: BookingWarning['kind'], messages: readonly string[]) => {
    if (messages.length === 0) return
    const more = messages.length > MAX_NAMED ? `, and ${messages.length - MAX_NAMED} more` : ''
    warnings.push({ kind, message: `${messages.slice(0, MAX_NAMED).join('; ')}${more}` })
  }
  add(
    'neighbour_before',
    question.windows.flatMap((window) => beforeText(question, window) ?? []),
  )
  add(
    'neighbour_after',
    question.windows.flatMap((window) => afterText(question, window) ?? []),
  )
  const model = targetText(targetOf({ use }))
  if (question.exceedsVram) add('exceeds_vram', [`${model} is larger than the memory of this lane: it may not load`])
  add(
    'outside_limits',
    outside.map(({ limit, message }) => `${limit}: ${message}`),
  )
  if (question.needsApproval) {
    add('needs_approval', [
      'an admin has to approve it before it starts; until then it keeps its window and loads nothing',
    ])
  }
  if (question.neverLoaded)
    add('never_loaded', [`${model} was never loaded on this lane: how long that takes is a guess`])
  add('wall_time', notes)
  return warnings
}

function beforeText({ bookings, use, estimateMs }: WarningQuestion, { startMs }: BookingWindow): string | undefined {
  const before = bookings[firstEndingAfter(bookings, startMs) - 1]
  if (before === undefined || sameTarget(targetOf(before), targetOf({ use }))) return undefined
  const missingMs = estimateMs(targetOf({ use })) - (startMs - before.endMs)
  if (missingMs <= 0) return undefined
  const other = before.use.kind === 'exclusive' ? 'the whole card' : targetText(targetOf(before))
  const what = use.kind === 'exclusive' ? 'free the card' : 'load yours'
  return `the booking before (${before.id}, until ${isoTime(before.endMs)}) has ${other}: the first ${secondsText(missingMs)} go by to ${what}`
}

function afterText({ bookings, use, estimateMs }: WarningQuestion, { endMs }: BookingWindow): string | undefined {
  const after = bookings[firstEndingAfter(bookings, endMs)]
  if (after === undefined || after.startMs < endMs || sameTarget(targetOf(after), targetOf({ use }))) return undefined
  const missingMs = estimateMs(targetOf(after)) - (after.startMs - endMs)
  if (missingMs <= 0) return undefined
  const other = after.use.kind === 'exclusive' ? 'the whole card' : targetText(targetOf(after))
  return `the booking after (${after.id}, from ${isoTime(after.startMs)}) has ${other}: the first ${secondsText(missingMs)} of it go by to switch`
}

function secondsText(ms: number): string {
  const seconds = retryAfterSeconds(ms)
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}

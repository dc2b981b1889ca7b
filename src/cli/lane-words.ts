import type { LaneBooking, LaneManualAnswer, LaneRow, LaneTarget } from '../contract/lane.ts'
import { momentText, windowText } from './rules/time-text.ts'
import type { Zone } from './rules/zone.ts'

/** `hello (chat)`, `nothing`; null (exclusive) = `exclusive`. */
export function targetText(target: LaneTarget | null): string {
  if (target === null) return 'exclusive'
  return target.kind === 'nothing' ? 'nothing' : `${target.model} (${target.profile})`
}

/** A booking in one line; whose it is only where that may be known. */
export function bookingText({ start, end, target, owner, id }: LaneBooking, zone: Zone): string {
  const who = owner === null ? '' : ` for ${owner}`
  return `${windowText(start, end, zone)}${who}: ${targetText(target)}, ${id}`
}

/** Whether a choice by hand counts, and when. */
export function effectText(answer: Pick<LaneManualAnswer, 'effect' | 'at' | 'ends_at'>, zone: Zone): string {
  const { effect, at, ends_at: end } = answer
  const until = end === null ? '' : `, until ${momentText(end, zone)}`
  switch (effect) {
    case 'now':
      return `it counts now${until}`
    case 'later':
      return `it counts ${at === null ? 'later' : `from ${momentText(at, zone)}`}${until}`
    case 'never':
      return 'it will not count: the next booking begins before it could'
  }
}

/** What a person should know of a lane besides what it runs; '' = nothing. */
export function laneRemark(row: LaneRow): string {
  const failure = row.failures.find((one) => isSameTarget(one.target, row.target)) ?? row.failures[0]
  return [
    row.config_problem ?? '',
    row.store_problem === null ? '' : `bookings cannot be read: ${row.store_problem}`,
    row.is_fallback ? `fallback: ${targetText(row.target)} cannot be loaded now` : '',
    failure === undefined ? '' : `${targetText(failure.target)}: ${failure.message}`,
    ...row.warnings,
  ]
    .filter((part) => part !== '')
    .join('; ')
}

function isSameTarget(a: LaneTarget, b: LaneTarget): boolean {
  return targetText(a) === targetText(b)
}

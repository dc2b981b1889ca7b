import { findValue } from '../rules/find-value.ts'
import { asciiBytes, LBRACE, LBRACKET, RBRACKET, skipSpaces } from '../rules/json-bytes.ts'
import { NOTHING } from './answer-filter.ts'
import { DATA_MARK, endOfLine, endOfText, isDataAt } from './event-lines.ts'

const CHOICES = asciiBytes('choices')
const USAGE = asciiBytes('usage')
const NEEDLE = Buffer.from('"usage"')
/** Longest part of the chunk that is kept: it is short, and its usage not at its end. */
const MAX_KEPT_BYTES = 1024

/**
 * Takes the extra chunk away that `stream_options.include_usage` asked for, its whole event; `dropped` gets a copy of its data line. `events`: whole events. The
 * same object comes back when it is not among them. Source: SPEC 11 "drops the extra chunk the client did not ask for".
 */
export function withoutUsageChunk(events: Buffer, dropped: (line: Buffer) => void): Buffer {
  if (!events.includes(NEEDLE)) return events
  const kept: Buffer[] = []
  let keptTo = 0
  let eventAt = 0
  let isDropped = false
  for (let start = 0; start < events.length; ) {
    const next = endOfLine(events, start)
    const end = endOfText(events, start, next)
    if (isDataAt(events, start) && isUsageChunk(events, start + DATA_MARK.length, end)) {
      isDropped = true
      dropped(Buffer.from(events.subarray(start, Math.min(end, start + MAX_KEPT_BYTES))))
    }
    // A blank line ends the event; so do the bytes.
    if (end === start || next === events.length) {
      if (isDropped) {
        if (eventAt > keptTo) kept.push(events.subarray(keptTo, eventAt))
        keptTo = next
      }
      eventAt = next
      isDropped = false
    }
    start = next
  }
  if (keptTo === 0) return events
  if (keptTo < events.length) kept.push(events.subarray(keptTo))
  return kept.length === 1 ? (kept[0] ?? NOTHING) : Buffer.concat(kept)
}

/** No choices, and usage. `lines` from `from` to before `end` is the data. */
function isUsageChunk(lines: Buffer, from: number, end: number): boolean {
  const usage = findValue(lines, from, end, USAGE)
  if (usage === undefined || lines[usage.start] !== LBRACE) return false
  const choices = findValue(lines, from, end, CHOICES)
  if (choices === undefined || lines[choices.start] !== LBRACKET) return false
  return lines[skipSpaces(lines, choices.start + 1, choices.end)] === RBRACKET
}

import { asciiBytes, COLON, CR, LF, QUOTE, skipSpaces, standsAt } from '../rules/json-bytes.ts'
import { eachObjectBack, isKey } from '../rules/scan-back.ts'

const FINISH_REASON = Buffer.from('finish_reason"')
const DONE = Buffer.from('[DONE]')
const TYPE = asciiBytes('type')

/**
 * Do these last bytes of an OpenAI event stream say that the answer is complete: `data: [DONE]`, or a `finish_reason` that is a text?
 * Only looked for with the engine's own byte search. A `finish_reason"` within a text of the model would stand behind a backslash at
 * its quote, and so does not match. Nobody reads `n`: of several choices the first that is finished passes for the end of all, so an engine that dies
 * between the end of one choice and that of the next is not noticed. Source: SPEC 11 "An engine that dies mid-stream".
 */
export function endsStream(tail: Buffer): boolean {
  if (hasDone(tail)) return true
  let at = tail.indexOf(FINISH_REASON)
  while (at >= 0) {
    at += FINISH_REASON.length
    let next = skipSpaces(tail, at, tail.length)
    if (tail[next] === COLON) {
      next = skipSpaces(tail, next + 1, tail.length)
      if (tail[next] === QUOTE) return true
    }
    at = tail.indexOf(FINISH_REASON, at)
  }
  return false
}

/**
 * Is there an event among these last bytes whose `type` is one of these (JSON strings, quotes included)? The bytes may begin in the
 * middle of an event; a `type` inside other values does not count. Source: SPEC 11 "An engine that dies mid-stream".
 */
export function hasEventOfType(tail: Buffer, types: readonly Uint8Array[]): boolean {
  let isFound = false
  let isOfType = false
  eachObjectBack(
    tail,
    (field) => {
      if (field.depth !== 1 || !isKey(tail, field, TYPE)) return
      const at = skipSpaces(tail, field.valueStart, tail.length)
      isOfType = types.some((type) => standsAt(tail, at, type))
    },
    (way) => {
      isFound = isOfType && way.kind !== 'broken'
      isOfType = false
      return isFound
    },
  )
  return isFound
}

/** Is `data: [DONE]` among these last bytes? From the end: where it is, it is among the last lines. */
export function hasDone(tail: Buffer): boolean {
  let at = tail.lastIndexOf(DONE)
  while (at >= 0) {
    const start = tail.lastIndexOf(LF, at) + 1
    const after = tail[at + DONE.length]
    // A text of the model would go on; that matters where its line is cut off in front.
    const endsLine = after === undefined || after === LF || after === CR
    if (endsLine && tail.toString('latin1', start, at).trimEnd() === 'data:') return true
    if (at === 0) return false
    at = tail.lastIndexOf(DONE, at - 1)
  }
  return false
}

const FINISH_REASON = Buffer.from('finish_reason"')
const DONE = Buffer.from('[DONE]')
const LF = 0x0a
const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20

/**
 * Do these lines of an OpenAI event stream say that the answer is complete: `data: [DONE]`, or a `finish_reason` that is a text?
 * Only looked for with the engine's own byte search. A `finish_reason"` within a text of the model would stand behind a backslash at
 * its quote, and so does not match. Source: SPEC 11 "An engine that dies mid-stream".
 */
export function endsStream(lines: Buffer): boolean {
  let at = lines.indexOf(FINISH_REASON)
  while (at >= 0) {
    at += FINISH_REASON.length
    let next = skipSpaces(lines, at)
    if (lines[next] === COLON) {
      next = skipSpaces(lines, next + 1)
      if (lines[next] === QUOTE) return true
    }
    at = lines.indexOf(FINISH_REASON, at)
  }
  return hasDone(lines)
}

function hasDone(lines: Buffer): boolean {
  let at = lines.indexOf(DONE)
  while (at >= 0) {
    const start = lines.lastIndexOf(LF, at) + 1
    if (lines.toString('latin1', start, at).trimEnd() === 'data:') return true
    at = lines.indexOf(DONE, at + DONE.length)
  }
  return false
}

function skipSpaces(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === SPACE) at++
  return at
}

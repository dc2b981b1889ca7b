import type { ErrorBody } from '../../contract/error-body.ts'
import { scanBody } from '../json/scan-body.ts'
import { spliceModel } from '../json/splice-model.ts'
import { type AnswerFilter, NOTHING } from './answer-filter.ts'
import { endsStream } from './stream-end.ts'

/** A line longer than this passes in pieces, and with the engine's own model name. */
const MAX_LINE_BYTES = 256 * 1024
const LF = 0x0a
const CR = 0x0d

export interface SseFilter extends AnswerFilter {
  /** A last event for a stream that breaks off: readable also when the engine stopped in the middle of an event. */
  errorEvent(body: ErrorBody): Buffer
  /** Did the engine say that its answer is complete? A clean end of the connection alone does not. */
  isComplete(): boolean
}

/**
 * Passes an event stream line by line (an engine writes whole events, so nothing waits) and gives each event the model name that
 * was asked for. The half line of an engine that dies is dropped: half an object would cost the client the error that follows.
 * Once the engine is seen to use the asked name itself, its bytes are looked at no more. Source: SPEC 11 "Streaming".
 */
export function createSseFilter(askedName: string): SseFilter {
  let partial: Buffer = NOTHING
  /** The start of the line at hand has been sent already. */
  let inLongLine = false
  let agrees = false
  let isComplete = false
  /** The last bytes sent, enough to see a blank line. */
  let tail = '\n\n'

  function sent(bytes: Buffer): Buffer {
    isComplete ||= endsStream(bytes)
    if (bytes.length > 0) tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - 4))).slice(-4)
    return bytes
  }

  function renamed(lines: Buffer): Buffer {
    if (agrees) return lines
    const out: Buffer[] = []
    let start = 0
    if (inLongLine) start = lines.indexOf(LF) + 1
    if (start > 0) out.push(lines.subarray(0, start))
    while (start < lines.length) {
      const end = lines.indexOf(LF, start) + 1
      const line = lines.subarray(start, end)
      out.push(agrees ? line : renameLine(line))
      start = end
    }
    return out.length === 1 ? (out[0] ?? NOTHING) : Buffer.concat(out)
  }

  function renameLine(line: Buffer): Buffer {
    if (line.length < 6 || line.toString('latin1', 0, 5) !== 'data:') return line
    let end = line.length - 1
    if (line[end - 1] === CR) end--
    const facts = scanBody(line.subarray(5, end))
    if (!facts.ok || facts.value.model.kind !== 'string') return line
    if (facts.value.model.value === askedName) {
      agrees = true
      return line
    }
    const { start, end: stop } = facts.value.model
    return spliceModel(line, { start: start + 5, end: stop + 5 }, askedName)
  }

  return {
    push(chunk) {
      const lastLf = chunk.lastIndexOf(LF)
      if (lastLf < 0) {
        partial = partial.length === 0 ? chunk : Buffer.concat([partial, chunk])
        if (partial.length <= MAX_LINE_BYTES) return NOTHING
        const long = partial
        partial = NOTHING
        inLongLine = true
        return sent(long)
      }
      const whole = chunk.subarray(0, lastLf + 1)
      const lines = renamed(partial.length === 0 ? whole : Buffer.concat([partial, whole]))
      partial = chunk.subarray(lastLf + 1)
      inLongLine = false
      return sent(lines)
    },
    end() {
      const rest = partial
      partial = NOTHING
      return sent(rest)
    },
    isComplete: () => isComplete,
    errorEvent(body) {
      const isBetweenEvents = tail.endsWith('\n\n') || tail.endsWith('\r\n\r\n')
      // A line that went out in part is ended first, then the event it belongs to.
      const ending = isBetweenEvents ? '' : tail.endsWith('\n') ? '\n' : '\n\n'
      partial = NOTHING
      return Buffer.from(`${ending}data: ${JSON.stringify(body)}\n\n`)
    },
  }
}

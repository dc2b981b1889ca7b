import type { ApiDialect } from '../../contract/api-dialect.ts'
import { parseJson } from '../../kernel/read-json.ts'
import { asciiBytes, LF } from '../rules/json-bytes.ts'
import { type EventFilter, NOTHING } from './answer-filter.ts'
import { DATA_MARK, endOfLastEvent, endOfLastLine, endOfLine, endOfText, isDataAt } from './event-lines.ts'
import { EventModel, RESPONSE_ENDS } from './event-model.ts'
import { endsStream, hasDone, hasEventOfType } from './stream-end.ts'
import { StreamPlace } from './stream-place.ts'
import { withoutUsageChunk } from './usage-chunk.ts'

/** A line longer than this passes in pieces, and with the engine's own model name. */
const MAX_LINE_BYTES = 256 * 1024
const MESSAGE_ENDS = ['"message_stop"', '"error"'].map(asciiBytes)
const RESPONSE_OR_ERROR_ENDS = [...RESPONSE_ENDS, asciiBytes('"error"')]

export interface EventFilterOptions {
  /** What `model` shall say. */
  readonly askedName: string
  readonly dialect: ApiDialect
  /** The gateway asked the engine for a usage chunk that the client did not ask for. Only `openai` has such chunks. */
  readonly dropsUsageChunk: boolean
}

/** An event filter that also knows where its stream stands. */
export interface PlacedEventFilter extends EventFilter {
  /** What was sent so far ends with a whole event, or nothing was sent: something of our own may stand here. */
  readonly isBetweenEvents: boolean
}

/**
 * Passes an event stream line by line (an engine writes whole events, so nothing waits) and gives each event the model name that
 * was asked for. The half line of an engine that dies is dropped: half an object would cost the client the error that follows.
 * `head` is Anthropic's first event, or the usage chunk that was dropped. Source: SPEC 11 "Streaming".
 */
export function createEventFilter(options: EventFilterOptions): PlacedEventFilter {
  return new DialectFilter(options)
}

class DialectFilter implements PlacedEventFilter {
  readonly #dialect: ApiDialect
  readonly #dropsUsageChunk: boolean
  readonly #model: EventModel
  readonly #place = new StreamPlace()
  #partial: Buffer = NOTHING
  /** The start of the line at hand has been sent already. */
  #isInLongLine = false
  /** The name of the event to which it belongs; '' = it has none. */
  #longEvent = ''
  #dropped: Buffer = NOTHING
  readonly #onDropped = (line: Buffer): void => {
    this.#dropped = line
  }

  constructor({ askedName, dialect, dropsUsageChunk }: EventFilterOptions) {
    this.#dialect = dialect
    this.#dropsUsageChunk = dropsUsageChunk && dialect === 'openai'
    this.#model = new EventModel(dialect, askedName)
  }

  get isPassive(): boolean {
    return this.#model.isSettled && !this.#dropsUsageChunk && this.#partial.length === 0 && !this.#isInLongLine
  }

  get isBetweenEvents(): boolean {
    return this.#place.isBetweenEvents
  }

  get head(): Buffer {
    return this.#dropsUsageChunk ? this.#dropped : this.#model.head
  }

  push(chunk: Buffer): Buffer {
    if (this.#isInLongLine) return this.#pushInLongLine(chunk)
    const bytes = this.#partial.length === 0 ? chunk : Buffer.concat([this.#partial, chunk])
    const cut = this.#dropsUsageChunk ? endOfLastEvent(bytes) : endOfLastLine(bytes)
    if (cut === bytes.length) {
      this.#partial = NOTHING
      return this.#sent(this.#rewritten(bytes))
    }
    const lines = cut === 0 ? NOTHING : this.#rewritten(bytes.subarray(0, cut))
    const rest = bytes.subarray(cut)
    if (rest.length <= MAX_LINE_BYTES) {
      this.#partial = rest
      return this.#sent(lines)
    }
    this.#partial = NOTHING
    this.#sent(lines)
    this.#isInLongLine = rest[rest.length - 1] !== LF
    if (!this.#isInLongLine) return joined(lines, this.#sent(this.#rewritten(rest)))
    this.#noteNamesBefore(rest)
    return joined(lines, this.#sent(rest))
  }

  end(): Buffer {
    const rest = this.#partial
    this.#partial = NOTHING
    // Not noted as sent: where it makes no whole answer it is not sent.
    return isWholeData(rest) ? this.#rewritten(rest) : NOTHING
  }

  finished(rest: Buffer): Buffer {
    this.#sent(rest)
    return joined(rest, Buffer.from(this.#place.ending))
  }

  passed(lines: Buffer): void {
    this.#place.note(lines)
  }

  isComplete(tail: Buffer): boolean {
    switch (this.#dialect) {
      case 'openai':
        return endsStream(tail)
      case 'anthropic':
        return hasEventOfType(tail, MESSAGE_ENDS)
      case 'responses':
        return this.#model.isDone || hasEventOfType(tail, RESPONSE_OR_ERROR_ENDS)
    }
  }

  hasLastEvent(tail: Buffer): boolean {
    switch (this.#dialect) {
      case 'openai':
        return hasDone(tail)
      case 'anthropic':
        return hasEventOfType(tail, MESSAGE_ENDS)
      case 'responses':
        return this.isComplete(tail)
    }
  }

  errorEvent(error: object): Buffer {
    this.#partial = NOTHING
    const name = this.#dialect === 'openai' ? '' : 'event: error\n'
    return this.#sent(Buffer.from(`${this.#place.ending}${name}data: ${JSON.stringify(error)}\n\n`))
  }

  #pushInLongLine(chunk: Buffer): Buffer {
    const end = chunk.indexOf(LF) + 1
    if (end === 0) return this.#sent(chunk)
    this.#isInLongLine = false
    this.#model.noteUnread(this.#longEvent)
    if (end === chunk.length) return this.#sent(chunk)
    const line = this.#sent(chunk.subarray(0, end))
    return joined(line, this.push(chunk.subarray(end)))
  }

  /** `rest` begins after whole lines, or (while usage is dropped) after whole events. */
  #noteNamesBefore(rest: Buffer): void {
    const lineAt = rest.lastIndexOf(LF) + 1
    if (lineAt > 0) this.#place.note(rest.subarray(0, lineAt))
    this.#longEvent = this.#place.openEvent
  }

  #sent(bytes: Buffer): Buffer {
    this.#place.note(bytes)
    return bytes
  }

  #rewritten(lines: Buffer): Buffer {
    const kept = this.#dropsUsageChunk ? withoutUsageChunk(lines, this.#onDropped) : lines
    return this.#model.mayBeIn(kept) ? this.#renamed(kept) : kept
  }

  #renamed(lines: Buffer): Buffer {
    const out: Buffer[] = []
    let keptTo = 0
    for (let start = 0; start < lines.length && !this.#model.isSettled; ) {
      const next = endOfLine(lines, start)
      if (isDataAt(lines, start)) {
        const range = this.#model.find(lines, start + DATA_MARK.length, endOfText(lines, start, next))
        if (range !== undefined) {
          out.push(lines.subarray(keptTo, range.start), this.#model.name)
          keptTo = range.end
        }
      }
      start = next
    }
    if (keptTo === 0) return lines
    out.push(lines.subarray(keptTo))
    return Buffer.concat(out)
  }
}

/** Do these lines, the last without its end, end in data that is whole? Half a JSON text, or half a name, would only be an error to the client. */
function isWholeData(lines: Buffer): boolean {
  const start = endOfLastLine(lines.subarray(0, endOfText(lines, 0, lines.length)))
  if (!isDataAt(lines, start)) return false
  const text = lines.toString('utf8', start + DATA_MARK.length).trim()
  return text === '[DONE]' || !/^[{[]/.test(text) || parseJson(text) !== undefined
}

function joined(first: Buffer, second: Buffer): Buffer {
  if (first.length === 0) return second
  return second.length === 0 ? first : Buffer.concat([first, second])
}

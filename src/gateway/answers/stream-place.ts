import { CR, LF } from '../rules/json-bytes.ts'
import { isDataAt } from './event-lines.ts'

const [BETWEEN_EVENTS, AFTER_LINE, IN_LINE] = [0, 1, 2]
const EVENT = 'event:'

/** Where an event stream stands after what was sent of it. Costs a look at the last bytes. */
export class StreamPlace {
  #place = BETWEEN_EVENTS
  /** The event at hand has a line of data; of interest only after a line. */
  #hasData = false
  /** Its last line, where that names the event. */
  #openEvent = ''

  /** A new event may begin here. */
  get isBetweenEvents(): boolean {
    return this.#place === BETWEEN_EVENTS
  }

  /** The name of the event that was begun and has no data yet; '' = there is none. */
  get openEvent(): string {
    return this.#openEvent
  }

  /**
   * What has to be sent before an event of our own. A line that went out in part is ended, then its event. An event that has only a name so far is not
   * ended: clients would read it as one with empty data; ours takes it over.
   */
  get ending(): string {
    if (this.#place === IN_LINE) return '\n\n'
    return this.#place === AFTER_LINE && this.#hasData ? '\n' : ''
  }

  /** These bytes were sent. */
  note(bytes: Buffer): void {
    const { length } = bytes
    if (length === 0) return
    if (bytes[length - 1] !== LF) {
      this.#place = IN_LINE
      return
    }
    const end = bytes[length - 2] === CR ? length - 2 : length - 1
    // A line end alone ends the line that was begun before, else the event.
    const isBlank = end === 0 ? this.#place !== IN_LINE : bytes[end - 1] === LF
    if (isBlank) {
      this.#place = BETWEEN_EVENTS
      this.#openEvent = ''
      return
    }
    this.#noteLine(bytes, end)
  }

  /** The rare case: what was sent ends with a line inside an event; `end` is behind its text. Looks back to where the event began. */
  #noteLine(bytes: Buffer, end: number): void {
    const lastAt = startOfLine(bytes, end)
    let hasData = false
    let start = lastAt
    let lineEnd = end
    while (lineEnd > start && start > 0) {
      hasData ||= isDataAt(bytes, start)
      lineEnd = bytes[start - 2] === CR ? start - 2 : start - 1
      start = startOfLine(bytes, lineEnd)
    }
    // The first of these lines may go on with a line that went out in part (only data is that long), or with an event.
    if (start === 0 && this.#place === IN_LINE) hasData = true
    else if (start === 0 && lineEnd > 0) {
      hasData ||= isDataAt(bytes, 0) || (this.#place === AFTER_LINE && this.#hasData)
    }
    const isWhole = lastAt > 0 || this.#place !== IN_LINE
    const isName = isWhole && bytes.toString('latin1', lastAt, lastAt + EVENT.length) === EVENT
    this.#openEvent = isName ? bytes.toString('latin1', lastAt + EVENT.length, end).trim() : ''
    this.#hasData = hasData
    this.#place = AFTER_LINE
  }
}

function startOfLine(bytes: Buffer, end: number): number {
  // A negative index would count from the end.
  return end === 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1
}

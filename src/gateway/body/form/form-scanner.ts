import { FormFields, type FormModel } from './form-fields.ts'
import { readPartHead } from './part-head.ts'

/** Where a body stops being a form, bytes from its start, and what should have stood there. */
export interface FormFault {
  readonly offset: number
  readonly expected: string
}

const MAX_HEAD_BYTES = 16 * 1024
const MAX_PARTS = 1_000
/** Nobody writes a preamble; a body that is no form at all should be told so early. */
const MAX_PREAMBLE_BYTES = 64 * 1024
const [CR, LF, DASH, SPACE, TAB] = [0x0d, 0x0a, 0x2d, 0x20, 0x09]
/** The line break that belongs to a delimiter. Source: RFC 2046 5.1.1. */
const BREAK_BYTES = 2
const HEAD_END = Buffer.from('\r\n\r\n')

const [PREAMBLE, DELIMITED, DELIMITED_PADDED, DELIMITED_CR, CLOSING, CLOSED, CLOSED_CR, EPILOGUE, HEAD, CONTENT] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
]

/** What has to come next, by state, for who stopped before it. */
const NEXT: Readonly<Record<number, string>> = {
  [DELIMITED]: 'a line break or "--" behind the boundary',
  [DELIMITED_PADDED]: 'a line break behind the boundary',
  [DELIMITED_CR]: 'a line feed behind the carriage return',
  [CLOSING]: '"--" behind the last boundary',
  [CLOSED]: 'nothing or a line break behind the last boundary',
  [CLOSED_CR]: 'a line feed behind the carriage return',
  [HEAD]: 'an empty line behind the headers of a part',
}

/**
 * Reads multipart/form-data in pieces, in one pass, keeping nothing but the few values it looks for: is it well-formed, and what do `model` and
 * `stream` say? Strict, since what it forwards is read again by an engine: line breaks are CRLF, whatever begins a line with the boundary
 * is a delimiter, and a form names its model once. Source: RFC 7578, RFC 2046 5.1, SPEC 11 "multipart is streamed".
 */
export class FormScanner {
  /** Where the delimiter of the end begins, its line break included; undefined = it has not come. −2 = the form begins with it. */
  closeAt: number | undefined
  readonly #delimiter: Buffer
  #state = PREAMBLE
  /** Bytes of the pieces before this one. */
  #base = 0
  /** So many bytes of the delimiter end the bytes seen so far. The body begins as behind a line break. */
  #matched = BREAK_BYTES
  #parts = 0
  readonly #head: number[] = []
  #headMatched = 0
  readonly #fields = new FormFields()

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** Undefined = it has not come. */
  get model(): FormModel | undefined {
    return this.#fields.model
  }

  get stream(): boolean {
    return this.#fields.stream
  }

  /** After a fault the scanner is spent. */
  push(piece: Buffer): FormFault | undefined {
    let at = 0
    while (at < piece.length) {
      if (this.#state === EPILOGUE) break
      let expected: string | undefined
      if (this.#state === CONTENT || this.#state === PREAMBLE) {
        at = this.#search(piece, at)
        if (this.#state === DELIMITED) expected = this.#fields.end(this.#base + at - this.#delimiter.length)
        else expected = this.#tooLong(this.#base + at)
      } else expected = this.#step(piece[at] ?? 0, this.#base + ++at)
      if (expected !== undefined) return { offset: this.#base + Math.max(0, at - 1), expected }
    }
    this.#base += piece.length
    return undefined
  }

  /** The body is over: is it complete? */
  end(): FormFault | undefined {
    if (this.#state === CLOSED || this.#state === EPILOGUE) return undefined
    const boundary = this.#delimiter.toString('latin1', BREAK_BYTES)
    return { offset: this.#base, expected: NEXT[this.#state] ?? `a line that begins with ${boundary}` }
  }

  /** One byte outside of contents; `end` is the offset behind it. The answer is what was expected instead. */
  #step(byte: number, end: number): string | undefined {
    const state = this.#state
    let next: number | undefined
    if (state === HEAD) return this.#headByte(byte, end)
    const isPadding = byte === SPACE || byte === TAB
    if (state === DELIMITED && byte === DASH) next = CLOSING
    else if (state === DELIMITED || state === DELIMITED_PADDED) {
      next = isPadding ? DELIMITED_PADDED : byte === CR ? DELIMITED_CR : undefined
    } else if (state === DELIMITED_CR && byte === LF) {
      if (++this.#parts > MAX_PARTS) return `at most ${MAX_PARTS} parts`
      this.#headMatched = BREAK_BYTES
      next = HEAD
    } else if (state === CLOSING && byte === DASH) {
      this.closeAt = end - 2 - this.#delimiter.length
      next = CLOSED
    } else if (state === CLOSED) next = isPadding ? CLOSED : byte === CR ? CLOSED_CR : undefined
    else if (state === CLOSED_CR && byte === LF) next = EPILOGUE
    if (next === undefined) return NEXT[state]
    this.#state = next
    return undefined
  }

  #headByte(byte: number, end: number): string | undefined {
    this.#head.push(byte)
    if (this.#head.length > MAX_HEAD_BYTES) return `at most ${MAX_HEAD_BYTES} bytes of headers in a part`
    if (byte === HEAD_END[this.#headMatched]) this.#headMatched++
    else this.#headMatched = byte === CR ? 1 : 0
    if (this.#headMatched < HEAD_END.length) return undefined
    const text = Buffer.from(this.#head).toString('latin1', 0, Math.max(0, this.#head.length - HEAD_END.length))
    this.#head.length = 0
    const head = readPartHead(text)
    if (!head.ok) return head.error
    this.#state = CONTENT
    this.#matched = 0
    return this.#fields.begin(head.value.name, head.value.isFile, end)
  }

  /** Goes on to the next delimiter, or to the end of the piece; tells where it got. */
  #search(piece: Buffer, from: number): number {
    let at = from
    const delimiter = this.#delimiter
    // A delimiter that began in an earlier piece. Its first byte occurs nowhere else in it, so a mismatch begins afresh.
    if (this.#matched > 0) {
      while (at < piece.length && this.#matched < delimiter.length && piece[at] === delimiter[this.#matched]) {
        at++
        this.#matched++
      }
      if (this.#matched === delimiter.length) return this.#found(at)
      if (at === piece.length) return at
      this.#fields.push(delimiter.subarray(0, this.#matched))
      this.#matched = 0
    }
    const found = piece.indexOf(delimiter, at)
    if (found >= 0) {
      this.#fields.push(piece.subarray(at, found))
      return this.#found(found + delimiter.length)
    }
    const tail = piece.lastIndexOf(CR)
    const begins = tail >= at && piece.length - tail < delimiter.length && delimiter.indexOf(piece.subarray(tail)) === 0
    this.#matched = begins ? piece.length - tail : 0
    this.#fields.push(piece.subarray(at, begins ? tail : piece.length))
    return piece.length
  }

  #found(at: number): number {
    this.#matched = 0
    this.#state = DELIMITED
    return at
  }

  #tooLong(at: number): string | undefined {
    if (this.#state === PREAMBLE && at > MAX_PREAMBLE_BYTES) {
      return `a line that begins with ${this.#delimiter.toString('latin1', BREAK_BYTES)}`
    }
    return this.#fields.tooLong()
  }
}

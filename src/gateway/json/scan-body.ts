import { err, ok, type Result } from '../../kernel/result.ts'
import { LF } from '../rules/json-bytes.ts'
import { ABSENT, type BodyFacts } from './body-facts.ts'
import { JsonScanner, type ScanFault } from './json-scanner.ts'
import { scanWhole } from './scan-whole.ts'

export type { BodyFacts } from './body-facts.ts'

/** UTF-8 byte order mark. */
const BOM = [0xef, 0xbb, 0xbf] as const
const MARK_START = Uint8Array.of(BOM[0])
/** Counting lines is for people who look for a mistake in an editor; a fault farther in is told by its byte alone. */
const MAX_COUNTED_BYTES = 1024 * 1024

/**
 * Reads a request body piece by piece, as it arrives: is it a JSON object, and what does it ask for? One pass, no recursion, nothing
 * built. A byte order mark is stepped over. Source: SPEC 11 "Bodies: `model` is found without parsing".
 */
export class BodyScan {
  readonly #scanner = new JsonScanner()
  /** Bytes of a mark seen so far; the text begins behind them. */
  #bomBytes = 0
  #isBegun = false

  /** How many bytes stand before the text: 3 behind a mark, else 0. */
  get bomBytes(): number {
    return this.#bomBytes
  }

  /** After a fault the scan is spent; its offset counts from the start of the text. */
  push(piece: Uint8Array): ScanFault | undefined {
    const text = this.#isBegun ? piece : this.#behindMark(piece)
    // Half a mark is no mark, and begins no JSON.
    if (this.#isBegun && this.#bomBytes % BOM.length !== 0) {
      this.#bomBytes = 0
      return this.#scanner.push(MARK_START)
    }
    const fault = this.#scanner.push(text)
    // The earlier of the two, whatever the pieces are.
    return this.#notAnObject() ?? fault
  }

  /** The body is over: what does it say? */
  end(): Result<BodyFacts, ScanFault> {
    const { facts } = this.#scanner
    const fault = this.#notAnObject() ?? this.#scanner.end()
    if (fault !== undefined) return err(fault)
    const { stream, hasKeys, objectAt = 0 } = facts
    const { model = ABSENT, kwargs = ABSENT } = facts
    const streamOptions = facts.hasStreamOptions ? 'present' : 'absent'
    return ok({ model, kwargs, stream, streamOptions, objectAt, hasKeys })
  }

  /** A list or a text is known by its first byte; the rest of it need not come. */
  #notAnObject(): ScanFault | undefined {
    const { rootAt, objectAt } = this.#scanner.facts
    return rootAt === undefined || objectAt !== undefined ? undefined : { offset: rootAt, expected: 'a JSON object' }
  }

  #behindMark(piece: Uint8Array): Uint8Array {
    let at = 0
    while (at < piece.length && this.#bomBytes < BOM.length && piece[at] === BOM[this.#bomBytes]) {
      at++
      this.#bomBytes++
    }
    this.#isBegun = at < piece.length
    return at === 0 ? piece : piece.subarray(at)
  }
}

/** The same for a body that is there as a whole: the quickest way to its facts. A mark may stand before it, as for `BodyScan`. */
export function scanBody(bytes: Uint8Array): Result<BodyFacts, ScanFault> {
  const markBytes = bytes[0] === BOM[0] && bytes[1] === BOM[1] && bytes[2] === BOM[2] ? BOM.length : 0
  const { buffer, byteOffset, length } = bytes
  const isText = markBytes === 0 && Buffer.isBuffer(bytes)
  const whole = scanWhole(isText ? bytes : Buffer.from(buffer, byteOffset + markBytes, length - markBytes))
  if (whole !== undefined) return ok(whole)
  const scan = new BodyScan()
  const fault = scan.push(bytes)
  return fault === undefined ? scan.end() : err(fault)
}

/**
 * A byte offset as an editor counts it: line and column from 1, columns in characters. Undefined = too far in to be counted.
 * `text` reaches at least to the offset.
 */
export function placeOf(text: Uint8Array, offset: number): { line: number; column: number } | undefined {
  if (offset > MAX_COUNTED_BYTES) return undefined
  let line = 1
  let column = 1
  for (let at = 0; at < offset && at < text.length; at++) {
    const byte = text[at] ?? 0
    if (byte === LF) {
      line++
      column = 1
    } else if ((byte & 0xc0) !== 0x80) column++
  }
  return { line, column }
}

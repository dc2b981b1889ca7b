import { err, ok, type Result } from '../../kernel/result.ts'
import { JsonScanner, type ScanFault } from './json-scanner.ts'
import type { ModelValue } from './top-level-facts.ts'

/** What the gateway needs to know of a request body. Offsets are bytes into the text that was scanned. */
export interface BodyFacts {
  /** `absent` = no such key. */
  readonly model: ModelValue | { readonly kind: 'absent' }
  /** The top-level `stream` is `true`. */
  readonly stream: boolean
  /** Just behind the opening `{`: where a key can be put. */
  readonly objectAt: number
  readonly hasKeys: boolean
}

/** A fault with its place as an editor counts it: line and column from 1, columns in characters. */
export interface BodyFault extends ScanFault {
  readonly line: number
  readonly column: number
}

/** Length of a UTF-8 byte order mark at the start of the bytes: 3 or 0. */
export function bomLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}

/**
 * Is the body a JSON object, and what does it ask for? One pass, no recursion, nothing built. A byte order mark is stepped over.
 * Source: SPEC 11 "Bodies: `model` is found without parsing".
 */
export function scanBody(bytes: Uint8Array): Result<BodyFacts, BodyFault> {
  const bom = bomLength(bytes)
  const scanner = new JsonScanner()
  const { facts } = scanner
  const fault = scanner.push(bytes.subarray(bom)) ?? scanner.end()
  if (fault !== undefined) return err(placed(bytes, { ...fault, offset: fault.offset + bom }))
  if (facts.objectAt === undefined) return err(placed(bytes, { offset: bom, expected: 'a JSON object' }))
  return ok({
    model: shifted(facts.model ?? { kind: 'absent' }, bom),
    stream: facts.stream,
    objectAt: facts.objectAt + bom,
    hasKeys: facts.hasKeys,
  })
}

function shifted(model: BodyFacts['model'], by: number): BodyFacts['model'] {
  if (by === 0 || model.kind === 'absent') return model
  if (model.kind === 'other') return { ...model, start: model.start + by }
  return { ...model, start: model.start + by, end: model.end + by }
}

function placed(bytes: Uint8Array, fault: ScanFault): BodyFault {
  let line = 1
  let column = 1
  for (let at = bomLength(bytes); at < fault.offset && at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === 0x0a) {
      line++
      column = 1
    } else if ((byte & 0xc0) !== 0x80) column++
  }
  return { ...fault, line, column }
}

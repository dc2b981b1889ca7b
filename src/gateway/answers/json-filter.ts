import { parseJson } from '../../kernel/read-json.ts'
import { JsonScanner } from '../json/json-scanner.ts'
import { encodeJsonString } from '../json/json-string.ts'
import { scanBody } from '../json/scan-body.ts'
import { spliceModel } from '../json/splice-model.ts'
import { findValue } from '../rules/find-value.ts'
import { asciiBytes, QUOTE } from '../rules/json-bytes.ts'
import { type AnswerFilter, NOTHING } from './answer-filter.ts'

export interface JsonFilter extends AnswerFilter {
  /** Is what was pushed one whole JSON text? */
  isComplete(): boolean
}

/**
 * Gives a JSON answer the model name that was asked for, while it streams: only the name itself is ever held back.
 * What is no JSON passes as it is. Source: SPEC 11 "`model` in an answer is the name that was asked for".
 */
export function createJsonFilter(askedName: string): JsonFilter {
  const scanner = new JsonScanner()
  let baseBytes = 0
  /** The part of an unfinished name that came with earlier chunks. */
  let held: Buffer = NOTHING
  let broken = false

  return {
    push(chunk) {
      if (broken) return chunk
      if (scanner.push(chunk) !== undefined) {
        broken = true
        return withHeld(chunk)
      }
      const out: Uint8Array[] = []
      const bytes = withHeld(chunk)
      const startBytes = baseBytes - (bytes.length - chunk.length)
      let cursor = startBytes
      for (const found of scanner.facts.closed) {
        if (found.value === askedName) continue
        out.push(bytes.subarray(cursor - startBytes, found.start - startBytes), encodeJsonString(askedName))
        cursor = found.end
      }
      const openAt = scanner.facts.openModelAt
      const upTo = openAt === undefined ? bytes.length : openAt - startBytes
      const last = bytes.subarray(cursor - startBytes, upTo)
      out.push(last)
      held = bytes.subarray(upTo)
      baseBytes += chunk.length
      return out.length === 1 ? last : Buffer.concat(out)
    },
    end() {
      const rest = held
      held = NOTHING
      return rest
    },
    isComplete: () => !broken && scanner.end() === undefined,
  }

  function withHeld(chunk: Buffer): Buffer {
    if (held.length === 0) return chunk
    const both = Buffer.concat([held, chunk])
    held = NOTHING
    return both
  }
}

const MODEL = asciiBytes('model')
/** A UTF-8 byte order mark, which the scan steps over and does not count. */
const BOM_BYTES = 3
const BOM_START = 0xef

/**
 * The same for a JSON answer that is there as a whole, in any dialect: all name the model at the top level. One scan. The same object comes back where nothing
 * has to change; undefined = it is no JSON. Source: as `createJsonFilter`.
 */
export function renameWhole(body: Buffer, askedName: string): Buffer | undefined {
  const facts = scanBody(body)
  if (!facts.ok) return renameUnscanned(body, askedName)
  const { model } = facts.value
  if (model.kind !== 'string' || model.value === askedName) return body
  const textAt = body[0] === BOM_START ? BOM_BYTES : 0
  return spliceModel(body, { start: model.start + textAt, end: model.end + textAt }, askedName)
}

/** The scan is stricter than JSON: in its root, in depth, in names. It alone does not condemn an answer. */
function renameUnscanned(body: Buffer, askedName: string): Buffer | undefined {
  if (parseJson(body.toString('utf8')) === undefined) return undefined
  const range = findValue(body, 0, body.length, MODEL)
  return range === undefined || body[range.start] !== QUOTE ? body : spliceModel(body, range, askedName)
}

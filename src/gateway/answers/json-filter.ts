import { encodeJsonString } from '../json/json-bytes.ts'
import { JsonScanner } from '../json/json-scanner.ts'
import { spliceModel } from '../json/splice-model.ts'
import { findValue } from '../rules/find-value.ts'
import { asciiBytes, COLON, QUOTE, skipSpaces, standsAt } from '../rules/json-marks.ts'
import { type AnswerFilter, NOTHING } from './answer-filter.ts'
import { isJsonName } from './event-model.ts'

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
const MODEL_KEY = Buffer.from('"model"')
/** The name that was asked for last, as JSON: clients seldom change it. */
let lastName = ''
let lastNameJson = encodeJsonString(lastName)

function jsonOf(name: string): Buffer {
  if (name !== lastName) {
    lastNameJson = encodeJsonString(name)
    lastName = name
  }
  return lastNameJson
}

/**
 * The same for a JSON answer that is there as a whole, in any dialect: all name the model at the top level. Whether it is JSON at all is not asked. The same
 * object comes back where nothing has to change. Source: as `createJsonFilter`.
 */
export function renameWhole(body: Buffer, askedName: string): Buffer {
  const keyAt = body.indexOf(MODEL_KEY)
  if (keyAt < 0) return body
  const name = jsonOf(askedName)
  // Where the only key of this name has the right value, it does not matter at which level it stands.
  const behindKey = keyAt + MODEL_KEY.length
  if (isValueAt(body, behindKey, name) && body.indexOf(MODEL_KEY, behindKey) < 0) return body
  const range = findValue(body, 0, body.length, MODEL)
  if (range === undefined || body[range.start] !== QUOTE || isJsonName(body, range, name, askedName)) return body
  return spliceModel(body, range, askedName)
}

/** Does this value stand behind the key that ends at `at`? */
function isValueAt(body: Buffer, at: number, value: Buffer): boolean {
  const colonAt = skipSpaces(body, at, body.length)
  return body[colonAt] === COLON && standsAt(body, skipSpaces(body, colonAt + 1, body.length), value)
}

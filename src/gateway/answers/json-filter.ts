import { encodeJsonString } from '../json/json-bytes.ts'
import { JsonScanner } from '../json/json-scanner.ts'
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

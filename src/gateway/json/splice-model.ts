import { encodeJsonString } from './json-bytes.ts'
import type { BodyFacts } from './scan-body.ts'

interface ByteRange {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

const MODEL_KEY = Buffer.from('"model":')
const COMMA = Buffer.from(',')
const NOTHING = Buffer.alloc(0)

/** The body with the JSON string at `range` (quotes included) replaced by `name`; everything else byte for byte. */
export function spliceModel(body: Buffer, range: ByteRange, name: string): Buffer {
  return Buffer.concat([body.subarray(0, range.start), encodeJsonString(name), body.subarray(range.end)])
}

/**
 * The body as the engine shall see it: its `model` is `alias`, put in where the client sent none (some engines insist on one).
 * The same object comes back when nothing has to change. Source: SPEC 11 "one splice in the request".
 */
export function nameForEngine(body: Buffer, facts: BodyFacts, alias: string): Buffer {
  const { model, objectAt, hasKeys } = facts
  if (model.kind === 'string') return model.value === alias ? body : spliceModel(body, model, alias)
  if (model.kind === 'null') return spliceModel(body, model, alias)
  if (model.kind === 'other') return body
  const pair = [MODEL_KEY, encodeJsonString(alias), hasKeys ? COMMA : NOTHING]
  return Buffer.concat([body.subarray(0, objectAt), ...pair, body.subarray(objectAt)])
}

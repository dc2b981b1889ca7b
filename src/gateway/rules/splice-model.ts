import { encodeJsonString } from './json-bytes.ts'
import type { BodyFacts } from './scan-body.ts'

/** Bytes `start` to `end` (exclusive) of `body` replaced by `insert`. */
export function splice(body: Uint8Array, range: { start: number; end: number }, insert: Uint8Array): Uint8Array {
  const result = new Uint8Array(body.length - (range.end - range.start) + insert.length)
  result.set(body.subarray(0, range.start), 0)
  result.set(insert, range.start)
  result.set(body.subarray(range.end), range.start + insert.length)
  return result
}

/** The body with the JSON string at `range` (quotes included) replaced by `name`; everything else byte for byte. */
export function spliceModel(body: Uint8Array, range: { start: number; end: number }, name: string): Uint8Array {
  return splice(body, range, encodeJsonString(name))
}

/**
 * The body as the engine shall see it: its `model` is `alias`, put in where the client sent none (some engines insist on one).
 * The same object comes back when nothing has to change. Source: SPEC 11 "one splice in the request".
 */
export function nameForEngine(body: Uint8Array, facts: BodyFacts, alias: string): Uint8Array {
  const model = facts.model
  if (model.kind === 'string') return model.value === alias ? body : spliceModel(body, model, alias)
  if (model.kind === 'null') return spliceModel(body, model, alias)
  if (model.kind === 'other') return body
  const value = encodeJsonString(alias)
  const key = encodeJsonString('model')
  const pair = new Uint8Array(key.length + 1 + value.length + (facts.hasKeys ? 1 : 0))
  pair.set(key, 0)
  pair[key.length] = 0x3a
  pair.set(value, key.length + 1)
  if (facts.hasKeys) pair[pair.length - 1] = 0x2c
  return splice(body, { start: facts.objectAt, end: facts.objectAt }, pair)
}

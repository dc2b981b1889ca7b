import { asciiBytes, BACKSLASH, COLON, COMMA, LBRACE, QUOTE, RBRACE, standsAt } from '../rules/json-bytes.ts'
import type { BodyFacts } from './body-facts.ts'
import { ABSENT } from './body-facts.ts'
import { NO_JSON, spaceEnd, valueEnd } from './skip-value.ts'
import { plainEnd } from './text-run.ts'
import { type KwargsValue, MAX_MODEL_BYTES, type ModelValue } from './top-level-facts.ts'

const MODEL = asciiBytes('model')
const STREAM = asciiBytes('stream')
const STREAM_OPTIONS = asciiBytes('stream_options')
const KWARGS = asciiBytes('chat_template_kwargs')
const THINKING = Buffer.from('thinking')

/**
 * The facts of a body that is there as a whole and has nothing rare about it: the same as `BodyScan` finds, several times as fast.
 * Undefined = it is no JSON object, or it is one with escapes in a key of the top level, a model name that is not ASCII, or a setting for
 * thinking: `BodyScan` says which.
 */
export function scanWhole(bytes: Buffer): BodyFacts | undefined {
  let at = spaceEnd(bytes, 0)
  if (bytes[at] !== LBRACE) return undefined
  const objectAt = ++at
  let model: BodyFacts['model'] = ABSENT
  let kwargs: BodyFacts['kwargs'] = ABSENT
  let stream = false
  let streamOptions: BodyFacts['streamOptions'] = 'absent'
  at = spaceEnd(bytes, at)
  const hasKeys = bytes[at] !== RBRACE
  for (let more = hasKeys; more; ) {
    if (bytes[at] !== QUOTE) return undefined
    const key = at + 1
    const keyEnd = plainEnd(bytes, key)
    if (bytes[keyEnd] !== QUOTE) return undefined
    at = spaceEnd(bytes, keyEnd + 1)
    if (bytes[at] !== COLON) return undefined
    const value = spaceEnd(bytes, at + 1)
    at = valueEnd(bytes, value)
    if (at === NO_JSON) return undefined
    // Nearly every key is told apart by its length.
    switch (keyEnd - key) {
      case MODEL.length:
        if (standsAt(bytes, key, MODEL)) {
          const found = modelAt(bytes, value, at)
          if (found === undefined) return undefined
          model = found
        }
        break
      case STREAM.length:
        if (standsAt(bytes, key, STREAM)) stream = bytes[value] === 0x74
        break
      case STREAM_OPTIONS.length:
        if (standsAt(bytes, key, STREAM_OPTIONS)) streamOptions = 'present'
        break
      case KWARGS.length:
        if (standsAt(bytes, key, KWARGS)) {
          const found = kwargsAt(bytes, value, at)
          if (found === undefined) return undefined
          kwargs = found
        }
        break
    }
    at = spaceEnd(bytes, at)
    more = bytes[at] === COMMA
    if (more) at = spaceEnd(bytes, at + 1)
    else if (bytes[at] !== RBRACE) return undefined
  }
  at = spaceEnd(bytes, at + 1)
  return at === bytes.length ? { model, kwargs, stream, streamOptions, objectAt, hasKeys } : undefined
}

/** Undefined = to be looked at more closely. */
function modelAt(bytes: Buffer, start: number, end: number): ModelValue | undefined {
  const first = bytes[start]
  if (first === 0x6e) return { kind: 'null', start, end }
  if (first !== QUOTE) return { kind: 'other', start }
  if (end - start - 2 > MAX_MODEL_BYTES) return undefined
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] ?? 0
    if (byte >= 0x80 || byte === BACKSLASH) return undefined
  }
  return { kind: 'string', start, end, value: bytes.toString('latin1', start + 1, end - 1) }
}

/** Undefined = to be looked at more closely. */
function kwargsAt(bytes: Buffer, start: number, end: number): KwargsValue | undefined {
  const first = bytes[start]
  if (first === 0x6e) return { kind: 'null', start, end }
  if (first !== LBRACE) return { kind: 'other' }
  const inner = bytes.subarray(start + 1, end - 1)
  if (inner.includes(THINKING) || inner.includes(BACKSLASH)) return undefined
  return { kind: 'object', start, end, hasKeys: spaceEnd(bytes, start + 1) !== end - 1, hasThinking: false }
}

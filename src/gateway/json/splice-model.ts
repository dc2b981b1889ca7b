import { encodeJsonString } from './json-bytes.ts'
import type { BodyFacts } from './scan-body.ts'

interface ByteRange {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** Bytes that take the place of a range; an empty range = they are put in. */
interface Edit extends ByteRange {
  readonly bytes: Buffer
}

/** What the engine shall read in the body. */
export interface ForEngine {
  /** The name the engine knows its model by. */
  readonly alias: string
  /** `chat_template_kwargs.enable_thinking` unless the client set that key; undefined = nothing is put in. */
  readonly enableThinking?: boolean | undefined
}

/** The body with the JSON string at `range` (quotes included) replaced by `name`; everything else byte for byte. */
export function spliceModel(body: Buffer, range: ByteRange, name: string): Buffer {
  return Buffer.concat([body.subarray(0, range.start), encodeJsonString(name), body.subarray(range.end)])
}

/**
 * The body as the engine shall see it: its `model` is the engine's name for it, put in where the client sent none (some engines insist on
 * one), and it says whether to think unless the client does. What the client sent as something that cannot be is left to the engine to
 * judge; all else stays byte for byte. The same object comes back when nothing has to change.
 * Source: SPEC 11 "one splice in the request", SPEC 3 "[tune]".
 */
export function spliceForEngine(body: Buffer, facts: BodyFacts, wanted: ForEngine): Buffer {
  const edits: Edit[] = []
  const newPairs: string[] = []
  nameModel(facts, wanted.alias, edits, newPairs)
  if (wanted.enableThinking !== undefined) setThinking(facts, wanted.enableThinking, edits, newPairs)
  if (newPairs.length > 0) edits.push(pairsAt(facts.objectAt, newPairs, facts.hasKeys))
  return edits.length === 0 ? body : applyEdits(body, edits)
}

function nameModel({ model }: BodyFacts, alias: string, edits: Edit[], newPairs: string[]): void {
  if (model.kind === 'absent') newPairs.push(`"model":${JSON.stringify(alias)}`)
  else if (model.kind === 'null' || (model.kind === 'string' && model.value !== alias)) {
    edits.push({ start: model.start, end: model.end, bytes: encodeJsonString(alias) })
  }
}

function setThinking({ kwargs }: BodyFacts, enabled: boolean, edits: Edit[], newPairs: string[]): void {
  const pair = `"enable_thinking":${enabled}`
  if (kwargs.kind === 'absent') newPairs.push(`"chat_template_kwargs":{${pair}}`)
  else if (kwargs.kind === 'null') edits.push({ start: kwargs.start, end: kwargs.end, bytes: Buffer.from(`{${pair}}`) })
  else if (kwargs.kind === 'object' && !kwargs.hasThinking)
    edits.push(pairsAt(kwargs.start + 1, [pair], kwargs.hasKeys))
}

/** Pairs put in behind an opening brace. */
function pairsAt(at: number, pairs: readonly string[], hasKeys: boolean): Edit {
  return { start: at, end: at, bytes: Buffer.from(pairs.join(',') + (hasKeys ? ',' : '')) }
}

/** The edits do not overlap. */
function applyEdits(body: Buffer, edits: readonly Edit[]): Buffer {
  const parts: Buffer[] = []
  let cursor = 0
  for (const { start, end, bytes } of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(body.subarray(cursor, start), bytes)
    cursor = end
  }
  return Buffer.concat([...parts, body.subarray(cursor)])
}

import type { ByteRange } from '../rules/json-bytes.ts'
import type { BodyFacts } from './body-facts.ts'
import { encodeJsonString } from './json-string.ts'

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
  /** Puts in `stream_options.include_usage` unless the client sent `stream_options` itself. */
  readonly askForUsage?: boolean | undefined
  /** Further pairs that the client did not send, as JSON text. */
  readonly pairs?: readonly string[] | undefined
}

/** Up to so many bytes it is cheaper to copy a body into one piece than to write several. */
const ONE_PIECE_BYTES = 16 * 1024
const USAGE_PAIR = '"stream_options":{"include_usage":true}'

/** The body with the JSON string at `range` (quotes included) replaced by `name`; everything else byte for byte. */
export function spliceModel(body: Buffer, range: ByteRange, name: string): Buffer {
  return Buffer.concat([body.subarray(0, range.start), encodeJsonString(name), body.subarray(range.end)])
}

/**
 * The body as the engine shall see it, in pieces: its `model` is the engine's name for it, put in where the client sent none (some engines
 * insist on one), it says whether to think and asks for usage unless the client does. What the client sent as something that cannot be is left
 * to the engine to judge; all else stays byte for byte. `body`: one piece or several, as `facts` counts them (a byte order mark taken off).
 * Long pieces are not copied. Source: SPEC 11 "one splice in the request", "Usage", SPEC 3 "[tune]".
 */
export function spliceForEngine(body: Buffer | readonly Buffer[], facts: BodyFacts, wanted: ForEngine): Buffer[] {
  const edits: Edit[] = []
  const newPairs: string[] = []
  nameModel(facts, wanted.alias, edits, newPairs)
  if (wanted.enableThinking !== undefined) setThinking(facts, wanted.enableThinking, edits, newPairs)
  if (wanted.askForUsage === true && facts.streamOptions === 'absent') newPairs.push(USAGE_PAIR)
  if (wanted.pairs !== undefined) newPairs.push(...wanted.pairs)
  if (newPairs.length > 0) edits.push(pairsAt(facts.objectAt, newPairs, facts.hasKeys))
  const pieces = Buffer.isBuffer(body) ? [body] : body
  if (edits.length === 0) return [...pieces]
  if (edits.length > 1) edits.sort((a, b) => a.start - b.start)
  return inOnePiece(applyEdits(pieces, edits))
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

/** The edits are in order and do not overlap; each begins before the last byte. */
function applyEdits(pieces: readonly Buffer[], edits: readonly Edit[]): Buffer[] {
  const out: Buffer[] = []
  let pieceAt = 0
  /** All before it is done. */
  let cursor = 0
  let nth = 0
  for (const piece of pieces) {
    const pieceEnd = pieceAt + piece.length
    for (let edit = edits[nth]; edit !== undefined && edit.start < pieceEnd; edit = edits[++nth]) {
      if (edit.start > cursor) out.push(piece.subarray(cursor - pieceAt, edit.start - pieceAt))
      out.push(edit.bytes)
      cursor = edit.end
    }
    if (cursor < pieceEnd) {
      out.push(cursor === pieceAt ? piece : piece.subarray(cursor - pieceAt))
      cursor = pieceEnd
    }
    pieceAt = pieceEnd
  }
  return out
}

function inOnePiece(pieces: Buffer[]): Buffer[] {
  let sizeBytes = 0
  for (const { length } of pieces) sizeBytes += length
  return sizeBytes > ONE_PIECE_BYTES ? pieces : [Buffer.concat(pieces, sizeBytes)]
}

import { type HeaderBag, isEventStream, isJson } from './headers.ts'

/**
 * How an engine's answer reaches the client.
 * `raw`: byte for byte, with its length. `events`: as an event stream, event names checked. `whole`: short JSON, looked at in one
 * piece, so that it keeps a length. `json`: renamed as it streams, without a length.
 */
export type AnswerMode = 'raw' | 'events' | 'whole' | 'json'

/** JSON up to this length is collected; longer answers stream, so that a client that reads slowly holds the engine, not our memory. */
export const WHOLE_LIMIT_BYTES = 256 * 1024

/** Source: SPEC 11 "Streaming", "`model` in an answer is the name that was asked for". */
export function chooseAnswerMode(answer: {
  readonly status: number
  readonly headers: HeaderBag
  /** The engine knows its model by the very name that was asked for. */
  readonly aliasIsAsked: boolean
}): AnswerMode {
  const { status, headers, aliasIsAsked } = answer
  // An engine's own error passes as it is; what is encoded cannot be looked into.
  if (status >= 400 || headers['content-encoding'] !== undefined) return 'raw'
  if (isEventStream(headers['content-type'])) return 'events'
  if (!isJson(headers['content-type'])) return 'raw'
  const length = headers['content-length']
  if (length === undefined) return 'json'
  if (Number(length) <= WHOLE_LIMIT_BYTES) return 'whole'
  return aliasIsAsked ? 'raw' : 'json'
}

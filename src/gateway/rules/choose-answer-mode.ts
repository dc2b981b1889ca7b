import { type HeaderBag, isEventStream, isJson } from './headers.ts'

/**
 * How an engine's answer reaches the client.
 * `raw`: byte for byte, with its length. `events`: as an event stream, event by event. `whole`: JSON, collected while it is short, so
 * that it keeps a length and is known to be JSON before anything is sent. `json`: renamed as it streams, without a length.
 * `error`: the engine's error, read and put into hal0's shape. `unfit`: no answer to such a request at all.
 */
export type AnswerMode = 'raw' | 'events' | 'whole' | 'json' | 'error' | 'unfit'

/** JSON up to this length is collected; longer answers stream, so that a client that reads slowly holds the engine, not our memory. */
export const WHOLE_LIMIT_BYTES = 256 * 1024

/** Source: SPEC 11 "Streaming", "`model` in an answer is the name that was asked for"; SPEC 16 "Error body everywhere". */
export function chooseAnswerMode(answer: {
  readonly status: number
  readonly headers: HeaderBag
  /** The engine knows its model by the very name that was asked for. */
  readonly aliasIsAsked: boolean
}): AnswerMode {
  const { status, headers, aliasIsAsked } = answer
  if (status < 200 || status >= 300) return 'error'
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  if (status === 204 || status === 205 || length === 0) return 'unfit'
  const events = isEventStream(headers['content-type'])
  if (!events && !isJson(headers['content-type'])) return 'unfit'
  // What is encoded cannot be looked into.
  if (isEncoded(headers['content-encoding'])) return 'raw'
  if (events) return 'events'
  if (length === undefined || length <= WHOLE_LIMIT_BYTES) return 'whole'
  return aliasIsAsked ? 'raw' : 'json'
}

function isEncoded(contentEncoding: HeaderBag[string]): boolean {
  return contentEncoding !== undefined && String(contentEncoding).trim().toLowerCase() !== 'identity'
}

import { isEventStream, isJson } from './headers.ts'

/**
 * How an engine's answer reaches the client.
 * `raw`: byte for byte, with its length. `events`: as an event stream, event by event. `whole`: JSON, collected while it is short, so
 * that it keeps a length and is known to be JSON before anything is sent. `json`: renamed as it streams, without a length.
 * `error`: the engine's error, read and put into hal0's shape. `unfit`: no answer to such a request at all.
 */
export type AnswerMode = 'raw' | 'events' | 'whole' | 'json' | 'error' | 'unfit'

/** JSON up to this length is collected; longer answers stream, so that a client that reads slowly holds the engine, not our memory. */
export const WHOLE_LIMIT_BYTES = 256 * 1024

/** What decides it. */
export interface AnswerFacts {
  readonly status: number
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** Content-Length; undefined = none. */
  readonly lengthBytes: number | undefined
  /** The engine knows its model by the very name that was asked for. */
  readonly aliasIsAsked: boolean
}

/** Source: SPEC 11 "Streaming", "`model` in an answer is the name that was asked for"; SPEC 16 "Error body everywhere". */
export function chooseAnswerMode(answer: AnswerFacts): AnswerMode {
  const { status, contentType, contentEncoding, lengthBytes, aliasIsAsked } = answer
  if (status < 200 || status >= 300) return 'error'
  if (status === 204 || status === 205 || lengthBytes === 0) return 'unfit'
  const events = isEventStream(contentType)
  if (!events && !isJson(contentType)) return 'unfit'
  // What is encoded cannot be looked into.
  if (contentEncoding !== undefined && contentEncoding.trim().toLowerCase() !== 'identity') return 'raw'
  if (events) return 'events'
  if (lengthBytes === undefined || lengthBytes <= WHOLE_LIMIT_BYTES) return 'whole'
  return aliasIsAsked ? 'raw' : 'json'
}

/** The same for a route whose answers are sounds or whatever the engine calls them: they pass as they are, event streams as such. */
export function chooseMediaMode(answer: Omit<AnswerFacts, 'aliasIsAsked'>): AnswerMode {
  const { status, lengthBytes, contentType, contentEncoding } = answer
  if (status < 200 || status >= 300) return 'error'
  if (isEventStream(contentType) && contentEncoding === undefined) return 'events'
  return status === 204 || status === 205 || lengthBytes === 0 ? 'unfit' : 'raw'
}

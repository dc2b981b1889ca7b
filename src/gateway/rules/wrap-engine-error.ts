import { Hal0Error } from '../../kernel/errors.ts'
import { readEngineSaid } from './engine-said.ts'

/** An answer of an engine that is no success, read as far as it goes. */
export interface EngineErrorAnswer {
  readonly slot: string
  /** Anything but 2xx. */
  readonly status: number
  /** The header as it came. */
  readonly retryAfter: unknown
  readonly body: string
}

/** What the client is told instead. */
export interface WrappedError {
  readonly error: Hal0Error
  readonly status: number
  /** The engine's own word for the kind of error. */
  readonly type?: string
  /** The engine's own word on when to ask again, where the error has none. */
  readonly retryAfterS?: number
}

/**
 * llama-server's words for a pooled input that is longer than its micro-batch; it calls that its own fault (500). Older builds name no numbers.
 * A pooled vector needs its whole input in one step.
 */
const TOO_LONG_TO_POOL =
  /^input (?:\((\d+) tokens\) )?is too large to process\. increase the physical batch size(?: \(current batch size: (\d+)\))?/i

/**
 * How does a client hear of an engine's error? In the one error body, in the engine's words, under the engine's status where that says
 * the truth about the client's request. A pooled input that does not fit into one step is the client's to shorten: 400. 401 and 403 speak of hal0's key, redirections and odd numbers of nothing a client could act on:
 * 502. Source: SPEC 16 "Error body everywhere", 20.
 */
export function wrapEngineError(answer: EngineErrorAnswer): WrappedError {
  const { slot, status, retryAfter } = answer
  const said = readEngineSaid(answer.body)
  const details = { slot, status, engine: said.original }
  const message = said.message ?? `The engine of slot "${slot}" answered with status ${status}`
  const type = said.type === undefined ? {} : { type: said.type }
  const param = said.param === undefined ? {} : { param: said.param }

  if (status === 401 || status === 403) {
    const refused = `The engine of slot "${slot}" refused hal0's own key (status ${status}); the key of this request has nothing to do with it`
    return withOwnStatus(Hal0Error.of('dispatch.upstream_unavailable', refused, { details }))
  }
  if (status === 429) {
    const error = Hal0Error.of('dispatch.queue_full', message, { retryAfterS: secondsOf(retryAfter), details })
    return { error, status, ...type }
  }
  if (status >= 400 && status < 500) {
    return { error: Hal0Error.of('request.invalid', message, { ...param, details }), status, ...type }
  }
  const tooLong = TOO_LONG_TO_POOL.exec(message)
  if (tooLong !== null) {
    const error = tooLongToPool(slot, countOf(tooLong[1]), countOf(tooLong[2]), details)
    return withOwnStatus(error)
  }
  if (status === 503 && /loading model/i.test(message)) {
    const error = Hal0Error.of('slot.loading', message, { retryAfterS: secondsOf(retryAfter), details })
    return { error, status, ...type }
  }
  if (status >= 500 && status < 600) {
    const again = isSeconds(retryAfter) ? { retryAfterS: secondsOf(retryAfter) } : {}
    return { error: Hal0Error.of('dispatch.upstream_unavailable', message, { details }), status, ...type, ...again }
  }
  const odd = `The engine of slot "${slot}" answered with status ${status}, which is no answer to this request`
  return withOwnStatus(Hal0Error.of('dispatch.upstream_unavailable', odd, { details }))
}

function tooLongToPool(
  slot: string,
  sentTokens: number | undefined,
  limitTokens: number | undefined,
  details: Readonly<Record<string, unknown>>,
): Hal0Error {
  const input = sentTokens === undefined ? 'An input' : `An input of ${sentTokens} tokens`
  const limit = limitTokens === undefined ? '' : `, ${limitTokens} tokens`
  const message = `${input} is longer than what slot "${slot}" reads in one step (its micro-batch${limit}); it was not cut short`
  return Hal0Error.of('request.invalid', message, {
    details: {
      ...details,
      ...(sentTokens === undefined ? {} : { sent_tokens: sentTokens }),
      ...(limitTokens === undefined ? {} : { limit_tokens: limitTokens }),
      remedy: `Send shorter pieces; or raise --batch-size and --ubatch-size in the slot's profile (\`hal0 profile edit\`), then \`hal0 slot restart ${slot}\`.`,
    },
  })
}

function countOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits)
}

function withOwnStatus(error: Hal0Error): WrappedError {
  return { error, status: error.status }
}

/** Whole seconds ≥ 1; a date, or nothing that can be read, is 1. */
function secondsOf(header: unknown): number {
  return isSeconds(header) ? Math.max(1, Number(header)) : 1
}

function isSeconds(header: unknown): header is string {
  return typeof header === 'string' && /^\d{1,6}$/.test(header.trim())
}

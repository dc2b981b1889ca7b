import { errnoOf } from '../kernel/errors.ts'

/** An error that the daemon answered with, taken from its one error body. Source: SPEC 16, 20. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** From the registry; `unexpected_answer` when the body was not hal0's. */
  readonly code: string
  /** The class of the error, in the daemon's own word; absent when the body was not hal0's. */
  readonly type: string | undefined
  /** HTTP status; 0 for an error event inside a stream. */
  readonly status: number
  /** What the reader can do; absent when the body named none. */
  readonly remedy: string | undefined
  /** The field at fault. */
  readonly param: string | undefined
  /** Whole seconds ≥ 1; set when it cures itself. */
  readonly retryAfterS: number | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(facts: {
    readonly code: string
    readonly type?: string
    readonly message: string
    readonly status: number
    readonly remedy?: string | undefined
    readonly param?: string | undefined
    readonly retryAfterS?: number | undefined
    readonly details?: Readonly<Record<string, unknown>>
  }) {
    super(facts.message)
    this.code = facts.code
    this.type = facts.type
    this.status = facts.status
    this.remedy = facts.remedy
    this.param = facts.param
    this.retryAfterS = facts.retryAfterS
    this.details = facts.details ?? {}
  }
}

/** No daemon answers at that address, or the connection to it broke. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  readonly url: string

  constructor(url: string, cause: unknown) {
    super(`No hal0 daemon answers at ${url}${reasonOf(cause)}`, { cause })
    this.url = url
  }
}

/** fetch says only "fetch failed"; the reason is in the cause below it. */
function reasonOf(cause: unknown): string {
  let inner = cause
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) inner = inner.errors[0]
  if (!(inner instanceof Error)) return ''
  const code = errnoOf(inner)
  return ` (${code === 'ECONNREFUSED' ? 'connection refused' : causeText(inner, code)})`
}

/** What OpenSSL says when the other side speaks plain HTTP. */
const NO_TLS = new Set(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

/** OpenSSL's own text is a dump of places in its source. */
function causeText(cause: Error, code: string | undefined): string {
  if (code !== undefined && NO_TLS.has(code)) return 'it does not speak TLS; try http:// instead of https://'
  if (code?.startsWith('ERR_SSL') === true) return `TLS failed: ${code}`
  return cause.message.split('\n')[0] || code || cause.name
}

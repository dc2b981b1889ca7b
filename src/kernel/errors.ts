import { type ErrorCode, type ErrorEntry, errorRegistry } from './error-registry.ts'
import { maskKeys } from './mask-keys.ts'

/** Codes that cure themselves: building one without `retryAfterS` does not compile. */
export type RetryableCode = {
  [Code in ErrorCode]: (typeof errorRegistry)[Code]['retry'] extends 'after' ? Code : never
}[ErrorCode]

export interface ErrorOptions {
  /** The request field or file key at fault, for example `messages` or `model.default`. */
  readonly param?: string
  /** Facts for machines; JSON-serialisable, free of keys and secrets. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/**
 * The one error class that reaches a client. Status, type and remedy come from the registry.
 * Anything else that is thrown is a fault of hal0 and is answered as `internal` without its text.
 */
export class Hal0Error extends Error {
  override readonly name = 'Hal0Error'
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  /** Whole seconds ≥ 1, exactly for codes whose retry class is `after`. */
  readonly retryAfterS: number | undefined

  private constructor(code: ErrorCode, message: string, options: ErrorOptions & { retryAfterS?: number }) {
    // Most of them end up in a log, and in front of somebody else.
    super(maskKeys(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.param = options.param === undefined ? undefined : maskKeys(options.param)
    this.details = options.details
    this.retryAfterS = options.retryAfterS
  }

  /** `message` says what happened and names the place; the remedy is the registry's. */
  static of<Code extends ErrorCode>(
    code: Code,
    message: string,
    ...[options]: Code extends RetryableCode ? [ErrorOptions & { retryAfterS: number }] : [ErrorOptions?]
  ): Hal0Error {
    return new Hal0Error(code, message, options ?? {})
  }

  get entry(): ErrorEntry {
    return errorRegistry[this.code]
  }

  get status(): number {
    return this.entry.status
  }
}

/** Makes sure that what is answered is a Hal0Error; a foreign error becomes `internal` and keeps its cause for the log. */
export function toHal0Error(thrown: unknown): Hal0Error {
  if (thrown instanceof Hal0Error) return thrown
  return Hal0Error.of('internal', 'hal0 failed unexpectedly while handling this request', { cause: thrown })
}

/** The text of anything thrown, for messages and logs. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** What a system call said, for example `ENOENT`; undefined for any other error. */
export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** What this process or its machine has run out of: files, memory, ports. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL'])

/** Did it fail for want of something on our own side? Such an error says nothing about whom it was meant for. */
export function isOwnShortage(thrown: unknown): boolean {
  return SHORTAGES.has(errnoOf(thrown) ?? '')
}

/** For `catch`: undefined where the file is not there; anything else is thrown on. */
export function undefinedIfMissing(thrown: unknown): undefined {
  if (errnoOf(thrown) === 'ENOENT') return undefined
  throw thrown
}

/** Is this the error of a file or folder that does not exist? */
export function isNotFound(thrown: unknown): boolean {
  const errno = errnoOf(thrown)
  return errno === 'ENOENT' || errno === 'ENOTDIR'
}

/** Tokens as the engine itself counted them; null = it did not say. Never guessed. Source: SPEC 11 "Usage". */
export interface TokenUsage {
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  /** Of the prompt, found in the engine's cache. */
  readonly cachedTokens: number | null
}

/** One request to /v1 or /upstream that is over. Made on its way out; looked at later, many at a time. Source: SPEC 11 "Usage", 17. */
export interface RequestRecord {
  readonly requestId: string
  readonly method: string
  /** The path as it was asked for, without its query. */
  readonly path: string
  /** The path of the contract that answered (`/v1/chat/completions`, `/upstream`); `other` = none. A bounded set: fit to be a label. */
  readonly route: string
  /** Undefined = it did not come so far. */
  readonly slot: string | undefined
  /** Who asked: id of the API key and of the user; null = open mode. */
  readonly keyId: string | null
  readonly userId: string | null
  readonly reservationId: string | null
  /** HTTP; 499 = the client left before there was an answer. */
  readonly status: number
  /** Answer bytes handed to the connection, headers not counted. */
  readonly bytesSent: number
  /** Epoch ms. */
  readonly endedMs: number
  /** From the first byte of the request to the end of its answer, ms. */
  readonly elapsedMs: number
  /** From the first byte of the request to the first byte of the engine's answer; undefined = no engine answered. */
  readonly firstByteMs: number | undefined
  /** Step of the resolution that chose the slot. */
  readonly reason: string | undefined
  /** An error code, or `client_gone`, `client_stalled`. */
  readonly failure: string | undefined
  /** The text behind `failure`. */
  readonly detail: string | undefined
  /** Reads the engine's own count out of what was kept of its answer; costs something, so it is called where time does not matter. */
  readonly usage: () => TokenUsage | null
}

const FIRST_ERROR_STATUS = 400

/** Is a request with this HTTP status counted as failed? The client's mistakes and its leaving (499) are failures too. Source: SPEC 17. */
export function isErrorStatus(status: number): boolean {
  return status >= FIRST_ERROR_STATUS
}

/** What a number of an engine or a clock adds to a sum: sums only go up, by whole numbers, whatever was said; null = nothing. */
export function countable(value: number | null): number {
  return value !== null && Number.isSafeInteger(value) && value > 0 ? value : 0
}

/** Takes what is over, some at a time, in order. Must not throw. */
export type RequestRecords = (records: readonly RequestRecord[]) => void

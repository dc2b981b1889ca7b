import type { RequestRecord, TokenUsage } from '../../contract/request-record.ts'
import { maskKeys } from '../../kernel/mask-keys.ts'
import { shortText } from '../../kernel/short-text.ts'

/** Of a path that somebody made up, in a line of the log. */
const MAX_PATH_CHARS = 1_024

/**
 * What the one log line of a request says besides level, time and message. Never a body, a key or a query; absent = undefined. `route`: the
 * path as it was asked for. Source: SPEC 17.
 */
export function requestFacts(record: RequestRecord, usage: TokenUsage | null): Readonly<Record<string, unknown>> {
  const { firstByteMs } = record
  return {
    request_id: record.requestId,
    method: record.method,
    route: shortText(maskKeys(record.path), MAX_PATH_CHARS),
    status: record.status,
    bytes: record.bytesSent,
    ms: Math.round(record.elapsedMs),
    ttft_ms: firstByteMs === undefined ? undefined : Math.round(firstByteMs),
    prompt_tokens: usage?.promptTokens ?? undefined,
    completion_tokens: usage?.completionTokens ?? undefined,
    slot: record.slot,
    key_id: record.keyId ?? undefined,
    user: record.userId ?? undefined,
    reservation: record.reservationId ?? undefined,
    reason: record.reason,
    failure: record.failure,
    detail: record.detail === undefined ? undefined : maskKeys(record.detail),
  }
}

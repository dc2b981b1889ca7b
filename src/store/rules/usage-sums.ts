import { countable, isErrorStatus, type RequestRecord, type TokenUsage } from '../../contract/request-record.ts'
import type { UsageBy, UsageSummary, UsageSums } from '../../contract/usage.ts'
import { HOUR_MS, isoTime } from '../../kernel/units.ts'
import { usesTokens } from './uses-tokens.ts'

/** Whose requests are summed, in which hour; '' = none. */
export interface UsageKey {
  /** Epoch ms, its beginning, UTC. */
  readonly hourMs: number
  readonly slot: string
  readonly route: string
  readonly keyId: string
  readonly userId: string
  readonly reservationId: string
}

/** Sums that are still counted up. */
export type GrowingSums = { -readonly [Name in keyof UsageSums]: UsageSums[Name] }

export interface UsageRow extends UsageKey {
  readonly sums: GrowingSums
}

/** What a report puts together: text, or the beginning of an hour or a day (epoch ms). */
export type GroupValue = string | number

export const DAY_MS = 24 * HOUR_MS

/** The beginning of the hour, or with `DAY_MS` of the day, that `atMs` (epoch ms) is in. */
export function beginningOf(atMs: number, lengthMs: number): number {
  return Math.floor(atMs / lengthMs) * lengthMs
}

/** `nowMs` stands in for an end that is no time. */
export function keyOf(record: RequestRecord, nowMs: number): UsageKey {
  const endedMs = Number.isFinite(record.endedMs) ? record.endedMs : nowMs
  return {
    hourMs: beginningOf(endedMs, HOUR_MS),
    slot: record.slot ?? '',
    route: record.route,
    keyId: record.keyId ?? '',
    userId: record.userId ?? '',
    reservationId: record.reservationId ?? '',
  }
}

/** One text for equal keys. No part can hold the separator. */
export function keyText({ hourMs, slot, route, keyId, userId, reservationId }: UsageKey): string {
  return `${hourMs}\n${slot}\n${route}\n${keyId}\n${userId}\n${reservationId}`
}

export function noSums(): GrowingSums {
  return {
    requests: 0,
    failed: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cached_tokens: 0,
    unknown: 0,
    busy_ms: 0,
  }
}

/** Adds one request. `unknown`: an engine began a good answer to what uses tokens, and nobody told how many. Source: SPEC 11 "Usage". */
export function addRequest(sums: GrowingSums, record: RequestRecord, usage: TokenUsage | null): void {
  const { status, failure, firstByteMs, elapsedMs } = record
  const isError = isErrorStatus(status)
  sums.requests++
  if (isError || failure !== undefined) sums.failed++
  const prompt = usage?.promptTokens ?? null
  const completion = usage?.completionTokens ?? null
  const isUntold = prompt === null && completion === null && firstByteMs !== undefined && !isError
  if (isUntold && usesTokens(record)) sums.unknown++
  sums.prompt_tokens += countable(prompt)
  sums.completion_tokens += countable(completion)
  sums.cached_tokens += countable(usage?.cachedTokens ?? null)
  sums.busy_ms += countable(Math.round(elapsedMs))
}

export function addSums(to: GrowingSums, more: UsageSums): void {
  to.requests += more.requests
  to.failed += more.failed
  to.prompt_tokens += more.prompt_tokens
  to.completion_tokens += more.completion_tokens
  to.cached_tokens += more.cached_tokens
  to.unknown += more.unknown
  to.busy_ms += more.busy_ms
}

/** The group of a report that a row belongs to. */
export function groupValueOf(row: UsageKey, by: UsageBy): GroupValue {
  switch (by) {
    case 'slot':
      return row.slot
    case 'route':
      return row.route
    case 'key':
      return row.keyId
    case 'user':
      return row.userId
    case 'reservation':
      return row.reservationId
    case 'hour':
      return row.hourMs
    case 'day':
      return beginningOf(row.hourMs, DAY_MS)
  }
}

/** Whole hours that hold all of `fromMs ≤ t < toMs`. */
export function wholeHours(fromMs: number, toMs: number): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: beginningOf(fromMs, HOUR_MS), toMs: -beginningOf(-toMs, HOUR_MS) }
}

/** The report of sums that were found for each group, in its order. */
export function reportOf(
  query: { readonly fromMs: number; readonly toMs: number; readonly by: UsageBy },
  found: ReadonlyMap<GroupValue, UsageSums>,
): UsageSummary {
  const total = noSums()
  for (const sums of found.values()) addSums(total, sums)
  const groups = [...found].toSorted(order).map(([value, sums]) => ({ key: textOf(value), ...sums }))
  return { from: isoTime(query.fromMs), to: isoTime(query.toMs), by: query.by, total, groups }
}

function order([a, sumsA]: [GroupValue, UsageSums], [b, sumsB]: [GroupValue, UsageSums]): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return sumsB.requests - sumsA.requests || (String(a) < String(b) ? -1 : 1)
}

function textOf(value: GroupValue): string | null {
  if (typeof value === 'number') return isoTime(value)
  return value === '' ? null : value
}

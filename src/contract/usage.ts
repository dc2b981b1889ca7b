import { z } from 'zod'
import type { RequestRecord, TokenUsage } from './request-record.ts'

/**
 * Reads requests that are over, some at a time, in the order in which they ended. `usages[n]`: what the engine told about `records[n]`, read once for
 * all readers. Must not throw. Every `RequestRecords` is one.
 */
export type RequestReader = (records: readonly RequestRecord[], usages: readonly (TokenUsage | null)[]) => void

/** What usage can be told by. `hour` and `day` are those of UTC. Source: SPEC 11 "Usage". */
export const USAGE_BY = ['slot', 'day', 'hour', 'route', 'key', 'user', 'reservation'] as const
export type UsageBy = (typeof USAGE_BY)[number]

const count = z.number().int().nonnegative()

/** Sums over requests. Tokens are those that engines counted; nothing is guessed. */
export const usageSumsSchema = z.object({
  requests: count,
  /** Of them: answered with an error, broken off, or left by their client. */
  failed: count,
  prompt_tokens: count,
  completion_tokens: count,
  /** Of the prompt tokens, found in the engine's cache. */
  cached_tokens: count,
  /** Requests that use tokens, and that an engine answered without saying how many: they are in no sum. */
  unknown: count,
  /** From the first byte of a request to the end of its answer, waiting included; ms, summed over requests, also those that ran at once. */
  busy_ms: count,
})
export type UsageSums = z.infer<typeof usageSumsSchema>

/** One line of a report. */
export const usageGroupSchema = z.object({
  /** A slot, a route, an id of a key, user or reservation; of hours and days their beginning (ISO 8601). Null = none: no slot was found, nobody signed in. */
  key: z.string().nullable(),
  /** What people call the key, user or reservation of that id; null = nobody knows any more, or the line stands for something else. */
  name: z.string().nullable(),
  ...usageSumsSchema.shape,
})
export type UsageGroup = z.infer<typeof usageGroupSchema>

/** GET /api/usage. */
export const usageReportSchema = z.object({
  /** ISO 8601, the beginning of the first hour that counts. */
  from: z.string(),
  /** ISO 8601, the end of the last hour that counts (not in it). */
  to: z.string(),
  by: z.enum(USAGE_BY),
  total: usageSumsSchema,
  /** Hours and days from old to new; else those with most requests first. Only groups with requests. */
  groups: z.array(usageGroupSchema),
})
export type UsageReport = z.infer<typeof usageReportSchema>
/** A report as it is summed: by ids alone. */
export type UsageSummary = Omit<UsageReport, 'groups'> & { readonly groups: readonly Omit<UsageGroup, 'name'>[] }

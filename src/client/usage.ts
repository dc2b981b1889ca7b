import { type UsageBy, type UsageReport, usageReportSchema } from '../contract/usage.ts'
import type { Http } from './http.ts'

export interface UsageOptions {
  /** ISO 8601; absent = 7 days before `to`. */
  readonly from?: string
  /** ISO 8601; absent = now. */
  readonly to?: string
  /** Absent = slot. */
  readonly by?: UsageBy
}

/** GET /api/usage. Errors: ClientError, UnreachableError. */
export function readUsage(http: Http, { from, to, by }: UsageOptions): Promise<UsageReport> {
  return http.json(usageReportSchema, '/api/usage', { query: { from, to, by } })
}

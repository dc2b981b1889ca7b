import type { AuditList } from '../contract/audit.ts'
import type { Caller } from './caller.ts'

/** Which rows of the audit; what is absent does not matter. */
export interface AuditQuery {
  /** Name (case does not matter) or id. */
  readonly actor?: string | undefined
  /** As it is, or its beginning up to a dot: `access` is all of `access.…`. */
  readonly type?: string | undefined
  /** Half-open, epoch ms. */
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  /** Only ids below this one. */
  readonly before?: number | undefined
  readonly limit: number
}

/** What an admin did through the API. Nothing in it is a secret. */
export interface AdminAct {
  /** Of what kind, for example `lanes`: the row is `admin.lanes`. */
  readonly area: string
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Who did what, as it was written down. Source: SPEC 14 "audit events". */
export interface AuditTrail {
  /** Newest first. Errors: `lane.store_unavailable`. */
  list(query: AuditQuery): AuditList
  /** Something that was done, and that no room writes down itself. Never throws. */
  did(act: AdminAct, by: Caller): void
  /** Somebody was not let do `what` (`GET /api/events`): the first time, and then once an hour. Never throws. */
  refused(what: string, by: Caller): void
}

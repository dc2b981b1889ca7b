import type { AuditRow } from '../../contract/audit.ts'
import type { Clock } from '../../kernel/clock.ts'
import { HOUR_MS, isoTime } from '../../kernel/units.ts'
import type { AuditTrail } from '../audit.ts'
import { isAdmin, nameOf, userIdOf } from '../caller.ts'
import { byOf } from './account-context.ts'
import type { AccountJournal } from './account-journal.ts'
import type { AuditTable } from './audit-table.ts'

/** A page that asks every second for what its reader may not see is one row an hour. */
export const REFUSED_EVERY_MS = HOUR_MS
/** Refusals that are remembered; who fills it writes a few rows more. */
const MAX_REMEMBERED = 1_000

/** The audit as others write and read it. */
export function createAuditTrail(journal: AccountJournal, clock: Clock): AuditTrail {
  const refusedAtMs = new Map<string, number>()

  function isFirst(key: string): boolean {
    const nowMs = clock.nowMs()
    const lastMs = refusedAtMs.get(key)
    // A clock that was put back must not silence it for longer.
    if (lastMs !== undefined && nowMs >= lastMs && nowMs - lastMs < REFUSED_EVERY_MS) return false
    if (refusedAtMs.size >= MAX_REMEMBERED) refusedAtMs.clear()
    refusedAtMs.set(key, nowMs)
    return true
  }

  return {
    list({ limit, ...query }) {
      // One more than asked for says whether there are others.
      const found = journal.read(({ audit }) => audit.select({ ...query, limit: limit + 1 }))
      const rows = found.slice(0, limit)
      return { audit: rows.map(rowOf), next: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
    },
    did({ area, message, data }, by) {
      journal.record({ type: `admin.${area}`, by: byOf(by), message, data })
    },
    refused(what, by) {
      if (!isFirst(`${userIdOf(by)} ${what}`)) return
      const who = isAdmin(by) ? nameOf(by) : `${nameOf(by)}, a member,`
      journal.note({
        type: 'refused',
        severity: 'warning',
        by: byOf(by),
        message: `${who} was refused ${what}`,
        data: { route: what },
      })
    },
  }
}

function rowOf(row: ReturnType<AuditTable['select']>[number]): AuditRow {
  const { id, atMs, type, byUserId, byName, message, data } = row
  const actor = byUserId === '' ? null : { id: byUserId, name: byName }
  return { id, at: isoTime(atMs), type, actor, message, data: { ...data } }
}

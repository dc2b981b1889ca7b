import { type AuditRow, MAX_AUDIT_ROWS } from '../../contract/audit.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { TimeZoneOption } from '../own-zone.ts'
import { momentText } from '../rules/time-text.ts'
import type { Zone } from '../rules/zone.ts'
import { openTimes } from '../times.ts'

const HEAD = ['TIME', 'WHO', 'TYPE', 'WHAT'] as const
const DAY_MS = 86_400_000

export interface UserAuditOptions extends GlobalOptions, TimeZoneOption {
  readonly actor?: string
  readonly type?: string
  readonly since?: string
  readonly until?: string
  readonly limit: number
  /** The number of a row: only those before it. */
  readonly before?: number
}

/** `hal0 user audit`: who did what, newest first. JSON: the answer of GET /api/audit, `{audit, next}`. Errors: UsageError. */
export async function userAudit(options: UserAuditOptions): Promise<void> {
  const output = outputOf(options)
  const times = await openTimes(options, output)
  const { actor, type, limit, before } = options
  // A bare 18:00 is the last one.
  const lately = times.nowMs - DAY_MS
  const since = times.readIso('--since', options.since, lately)
  const until = times.readIso('--until', options.until, lately)
  const answer = await (await connect(options)).people.audit({ actor, type, since, until, limit, before })
  const { audit, next } = answer
  if (!output.json) {
    if (audit.length === 0) output.note('nothing is written down of that')
    if (next !== null && limit === MAX_AUDIT_ROWS) output.note(`there are more; --before ${next} goes on`)
    else if (next !== null)
      output.note(`there are more; --limit N lists up to ${MAX_AUDIT_ROWS}, --before ${next} goes on`)
  }
  output.result(answer, () =>
    audit.length === 0
      ? ''
      : output.table(
          HEAD,
          audit.map((row) => cells(row, times.zone)),
        ),
  )
}

function cells({ at, actor, type, message }: AuditRow, zone: Zone): string[] {
  return [momentText(at, zone), actor?.name ?? '-', type, message]
}

import type { Caller } from '../access/caller.ts'
import type { UsageReport, UsageSummary } from '../contract/usage.ts'
import type { ManagementPorts } from './api-context.ts'

type Names = Pick<ManagementPorts, 'accounts' | 'bookings'>

/**
 * A report with what people call its lines: a user by name, a key by name and first characters, a reservation by its title, or by lane and start.
 * As far as the caller may know; what is gone, or cannot be read now, has no name. Source: SPEC 11 "Usage", 14.
 */
export function nameGroups({ groups, ...report }: UsageSummary, names: Names, by: Caller): UsageReport {
  const nameOf = namer(report.by, names, by)
  return {
    ...report,
    groups: groups.map((group) => ({ ...group, name: group.key === null ? null : nameOf(group.key) })),
  }
}

function namer(by: UsageReport['by'], { accounts, bookings }: Names, caller: Caller): (id: string) => string | null {
  switch (by) {
    case 'user':
      return (id) => accounts.byId(id)?.name ?? null
    case 'key': {
      const keys = new Map(accounts.keys(caller).map(({ id, name, prefix }) => [id, `${name} (${prefix})`]))
      return (id) => keys.get(id) ?? null
    }
    case 'reservation':
      return (id) => reservationName(bookings, id, caller)
    default:
      return () => null
  }
}

function reservationName(bookings: Names['bookings'], id: string, caller: Caller): string | null {
  try {
    const { title, lane, start } = bookings.show(id, caller)
    return title === '' ? `${lane} ${start}` : title
  } catch {
    // Its sums are told all the same.
    return null
  }
}

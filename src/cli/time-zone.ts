import { selectNearest } from '../kernel/nearest-word.ts'
import { UsageError } from './cli-error.ts'
import type { Zone } from './rules/zone.ts'

/** A zone by its IANA name; undefined = that of this machine (TZ), UTC where it says none. Errors: UsageError. */
export function openZone(name: string | undefined): Zone {
  const wanted = name ?? zoneOfMachine()
  const format = formatOf(wanted)
  if (format === undefined) throw noSuchZone(wanted)
  const known = format.resolvedOptions().timeZone
  return {
    // Older names of a zone are kept as typed: Node resolves some newer ones to them.
    name: known.toLowerCase() === wanted.toLowerCase() ? known : wanted,
    offsetMs(epochMs) {
      const parts = Object.fromEntries(format.formatToParts(epochMs).map(({ type, value }) => [type, Number(value)]))
      const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
      const wallMs = Date.UTC(year, month - 1, day, hour, minute, second)
      // The parts are whole seconds.
      return wallMs - Math.floor(epochMs / 1000) * 1000
    },
  }
}

/** With an empty or unknown TZ Node names one that it does not know itself. */
function zoneOfMachine(): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return zone !== undefined && formatOf(zone) !== undefined ? zone : 'UTC'
}

/** Undefined = there is no such zone. */
function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  // An offset is no zone: its clocks would never change.
  if (!/^[A-Za-z]/.test(zone)) return undefined
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return undefined
  }
}

function noSuchZone(name: string): UsageError {
  const nearest = selectNearest(name, Intl.supportedValuesOf('timeZone'))
  const hint = nearest === undefined ? 'Write one such as Europe/Berlin or UTC.' : `Did you mean ${nearest}?`
  return new UsageError(`There is no time zone ${JSON.stringify(name)}.`, hint)
}

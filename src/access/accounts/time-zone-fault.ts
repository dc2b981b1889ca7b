import type { UserFault } from '../rules/user-rules.ts'

/** Undefined = a time zone of the IANA list, as this machine knows it. */
export function findTimeZoneFault(timeZone: string): UserFault | undefined {
  try {
    const known = new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
    // Offsets are no zones: their clocks never change.
    if (/^[A-Za-z]/.test(known)) return undefined
  } catch {
    // Said below.
  }
  return {
    param: 'time_zone',
    message: `${JSON.stringify(timeZone.slice(0, 64))} is no time zone; expected a name such as Europe/Berlin or UTC.`,
  }
}

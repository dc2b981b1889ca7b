import { showUrl } from '../config/settings/public-url.ts'

/**
 * With what does the address of a calendar feed begin? `told`: where the daemon says that people reach it; undefined = it does not say.
 * `reached`: where this command reached it. A daemon behind a proxy that was not told its name says an address of its own machine alone: then
 * the one that worked here counts. Source: SPEC 13 "iCalendar".
 */
export function chooseFeedBase(told: string | undefined, reached: string, hostName: string): string {
  const isBetter = told !== undefined && (!isOfMachine(told) || isOfMachine(reached))
  return isBetter ? told : showUrl(reached, hostName)
}

/** Does this lead nowhere from another machine? */
function isOfMachine(url: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname)
}

import { announce as announceEvent } from '../events/announce.ts'
import type { Publisher } from '../events/bus.ts'
import type { Log } from '../kernel/log.ts'

/** Tells log and bus, in the arbiter's name. `severity` is the log's level too. */
export function announce(
  deps: { readonly log: Log; readonly bus: Publisher },
  severity: 'info' | 'warning',
  type: string,
  message: string,
  data: Readonly<Record<string, unknown>>,
): void {
  announceEvent(deps, { type, severity, source: 'arbiter', message, data })
}

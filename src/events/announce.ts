import type { NewEvent } from '../contract/events.ts'
import type { Log } from '../kernel/log.ts'
import type { Publisher } from './bus.ts'

const LEVELS = { info: 'info', warning: 'warn', error: 'error' } as const

/** Tells log and bus the same: the event's severity is the log's level, its data the log's facts. `logOnly`: facts that only the log has. */
export function announce(
  { log, bus }: { readonly log: Log; readonly bus: Publisher },
  event: NewEvent,
  logOnly: Readonly<Record<string, unknown>> = {},
): void {
  log[LEVELS[event.severity]]({ ...event.data, ...logOnly }, event.message)
  bus.publish(event)
}

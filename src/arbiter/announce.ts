import type { Publisher } from '../events/bus.ts'
import type { Log } from '../kernel/log.ts'

/** Tells log and bus. `severity` is the log's level too. */
export function announce(
  { log, bus }: { readonly log: Log; readonly bus: Publisher },
  severity: 'info' | 'warning',
  type: string,
  message: string,
  data: Readonly<Record<string, unknown>>,
): void {
  if (severity === 'info') log.info(data, message)
  else log.warn(data, message)
  bus.publish({ type, severity, source: 'arbiter', message, data })
}

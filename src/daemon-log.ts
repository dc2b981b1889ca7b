import { join } from 'node:path'
import { type Logger, pino, stdSerializers } from 'pino'
import type { Home } from './files/home.ts'

/** Names under which a secret could travel; their values never reach a line. Source: SPEC 14 "Keys never reach a log". */
const SECRET_FIELDS = ['authorization', 'cookie', 'engineKey', 'key', 'password', 'token', 'api_key']

/** Its name in `var-log/hal0`. */
export const DAEMON_LOG = 'daemon.log'

/** The daemon's own log (its folder exists): JSON lines in `var-log/hal0/daemon.log`, one per decision. HAL0_LOG_LEVEL changes what is kept. */
export function openDaemonLog(home: Home, level: string): { readonly log: Logger; close(): void } {
  const file = pino.destination({ dest: join(home.varLog, DAEMON_LOG), append: true, sync: false })
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: stdSerializers.err },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
    },
    file,
  )
  return {
    log,
    close: () => {
      file.flushSync()
      file.end()
    },
  }
}

import { join } from 'node:path'
import { type Logger, pino, stdSerializers } from 'pino'
import { openAppendFile } from './files/append-file.ts'
import type { Home } from './files/home.ts'
import { Hal0Error, messageOf } from './kernel/errors.ts'

/** Names under which a secret could travel; their values never reach a line. Source: SPEC 14 "Keys never reach a log". */
const SECRET_FIELDS = ['authorization', 'cookie', 'engineKey', 'key', 'password', 'token', 'api_key']

/** Its name in `var-log/hal0`. */
export const DAEMON_LOG = 'daemon.log'

/** The daemon's own log. */
export interface DaemonLog {
  readonly log: Logger
  /** Appends whole lines of level info that are made elsewhere, in this log's format; undefined = that level is not written. */
  readonly writeInfo: ((lines: string) => void) | undefined
  close(): Promise<void>
}

/**
 * Opens it (its folder exists): JSON lines in `var-log/hal0/daemon.log`, one per decision; a full disk costs lines, nothing
 * else. Errors: `config.invalid` where the file cannot be opened, or HAL0_LOG_LEVEL is not a level.
 */
export function openDaemonLog(home: Home, level: string): DaemonLog {
  const path = join(home.varLog, DAEMON_LOG)
  if (!(level in pino.levels.values) && level !== 'silent') {
    const known = Object.keys(pino.levels.values).join(', ')
    throw Hal0Error.of('config.invalid', `HAL0_LOG_LEVEL is "${level}"; expected one of ${known}, silent`)
  }
  let file: ReturnType<typeof openAppendFile>
  try {
    file = openAppendFile(path)
  } catch (cause) {
    throw Hal0Error.of('config.invalid', `the daemon's log cannot be written: ${messageOf(cause)}`, {
      details: { path, remedy: `Make ${path} a file that this user may write, or choose another home.` },
      cause,
    })
  }
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
  const writeInfo = log.isLevelEnabled('info') ? (lines: string) => file.write(lines) : undefined
  return { log, writeInfo, close: () => file.close() }
}

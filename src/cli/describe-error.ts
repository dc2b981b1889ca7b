import { ClientError, UnreachableError } from '../client/client-errors.ts'
import { errorBody } from '../contract/error-body.ts'
import { errnoOf, Hal0Error, messageOf } from '../kernel/errors.ts'
import { CliError, UsageError } from './cli-error.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { NoDaemonError } from './no-daemon-error.ts'

const WHERE_IS_IT = 'Start it with `hal0 serve` (or `npm start`), or say where it is with --url or --home.'

/** A failure as the command line shows it. */
export interface ErrorReport {
  readonly exitCode: ExitCode
  readonly message: string
  readonly code: string
  readonly remedy: string | undefined
  /** What `--json` prints: the daemon's error body, also for failures that never reached a daemon. Source: SPEC 16. */
  readonly body: { readonly error: Readonly<Record<string, unknown>> }
}

/** How is this failure told, and with which exit code? */
export function describeError(thrown: unknown): ErrorReport {
  if (thrown instanceof ClientError) {
    const details = { ...thrown.details, status: thrown.status, retry_after_s: thrown.retryAfterS }
    return report(EXIT.failed, thrown.type ?? 'request_error', thrown, thrown.code, thrown.remedy, details)
  }
  if (thrown instanceof UnreachableError) {
    return report(EXIT.unreachable, 'connection_error', thrown, 'daemon.unreachable', WHERE_IS_IT, { url: thrown.url })
  }
  if (thrown instanceof NoDaemonError) {
    return report(EXIT.unreachable, 'connection_error', thrown, 'daemon.unreachable', WHERE_IS_IT)
  }
  if (thrown instanceof Hal0Error) {
    const body = errorBody(thrown)
    const { remedy } = body.error.details
    return {
      exitCode: EXIT.failed,
      message: thrown.message,
      code: thrown.code,
      remedy: typeof remedy === 'string' ? remedy : thrown.entry.remedy,
      body,
    }
  }
  if (thrown instanceof UsageError) return report(EXIT.usage, 'usage_error', thrown, thrown.code, thrown.remedy)
  if (thrown instanceof CliError) return report(EXIT.failed, 'cli_error', thrown, thrown.code, thrown.remedy)
  const refused = systemCode(thrown)
  if (refused !== undefined) {
    return report(
      EXIT.failed,
      'system_error',
      thrown,
      refused,
      'The system refused this: check the path or address that is named, and your rights.',
    )
  }
  return report(EXIT.failed, 'cli_error', thrown, 'internal', 'This may be a fault of hal0; HAL0_DEBUG=1 shows where.')
}

/** `EACCES`, `ENOSPC` …: what a system call said, undefined for any other error. */
function systemCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'syscall' in thrown ? errnoOf(thrown) : undefined
}

function report(
  exitCode: ExitCode,
  type: string,
  thrown: unknown,
  code: string,
  remedy: string | undefined,
  details: Readonly<Record<string, unknown>> = {},
): ErrorReport {
  const message = messageOf(thrown)
  const param = thrown instanceof ClientError ? (thrown.param ?? null) : null
  return {
    exitCode,
    message,
    code,
    remedy,
    body: { error: { message, type, param, code, details: { ...details, remedy } } },
  }
}

/** The one or two lines on stderr: what happened (code), then what to do, where the first does not say it already. */
export function errorLines(told: ErrorReport): string {
  const first = `hal0: ${told.message} (${told.code})\n`
  const { remedy } = told
  const isSaid = remedy !== undefined && told.message.toLowerCase().includes(remedy.replace(/\.$/, '').toLowerCase())
  return remedy === undefined || remedy === '' || isSaid ? first : `${first}  ${remedy}\n`
}

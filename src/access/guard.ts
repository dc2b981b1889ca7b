import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { decideOpenAccess } from './rules/open-mode.ts'

/** Who asks. Without users everyone who may come in is the local admin. Source: SPEC 14. */
export interface Caller {
  readonly kind: 'local_admin'
}

/** Says who sends a request, or why it may not come in. Asked before anything else looks at the request. */
export type Guard = (request: IncomingMessage) => Result<Caller, Hal0Error>

const LOCAL_ADMIN: Caller = { kind: 'local_admin' }

/**
 * The guard of a daemon without users. `allowedHosts` is asked each time, so that an edit of the settings applies at once.
 * Errors: `auth.required`. Source: SPEC 14.
 */
export function createOpenGuard(options: { readonly allowedHosts: () => readonly string[] }): Guard {
  return (request) => {
    const decision = decideOpenAccess({
      target: request.url ?? '',
      headers: headerLines(request.rawHeaders),
      remoteAddress: request.socket.remoteAddress,
      allowedHosts: options.allowedHosts(),
    })
    if (decision.allow) return ok(LOCAL_ADMIN)
    return err(
      Hal0Error.of('auth.required', decision.reason, {
        ...(decision.header === undefined ? {} : { param: decision.header }),
      }),
    )
  }
}

/** The raw lines, because `request.headers` hides a repeated Host or Origin. */
function headerLines(raw: readonly string[]): (readonly [string, string])[] {
  const lines: (readonly [string, string])[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) lines.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return lines
}

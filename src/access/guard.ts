import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Caller } from './caller.ts'
import { isForwardedHeader } from './rules/forwarded-headers.ts'
import { decideOpenAccess } from './rules/open-mode.ts'

export type { Caller } from './caller.ts'

/** Says who sends a request, or why it may not come in. Asked before anything else looks at the request. */
export type Guard = (request: IncomingMessage) => Result<Caller, Hal0Error>

/** For routes that are open (signing in): undefined = nobody known. Only what a foreign page or a wrong Host sends is refused. */
export type OpenDoor = (request: IncomingMessage) => Result<Caller | undefined, Hal0Error>

const LET_IN = ok<Caller>({ kind: 'local_admin' })

/**
 * The guard of a daemon without users. `allowedHosts` is asked each time, so that an edit of the settings applies at once.
 * Errors: `auth.required`. Source: SPEC 14.
 */
export function createOpenGuard(options: { readonly allowedHosts: () => readonly string[] }): Guard {
  const plain = createPlainCheck(options.allowedHosts)
  return (request) => {
    if (plain.isKnown(request)) return LET_IN
    const decision = decideOpenAccess({
      target: request.url ?? '',
      headers: headerLines(request.rawHeaders),
      remoteAddress: request.socket.remoteAddress,
      allowedHosts: options.allowedHosts(),
    })
    if (decision.allow) {
      plain.remember(request)
      return LET_IN
    }
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

/** Most names and hosts are the same few for ever; a stranger must not fill the memory with others. */
const MAX_REMEMBERED = 512

/** Whether a header has a say in the decision, by its spelling. */
const hasSay = new Map<string, boolean>()

function isWeighty(spelling: string): boolean {
  const known = hasSay.get(spelling)
  if (known !== undefined) return known
  const name = spelling.toLowerCase()
  const answer = name === 'origin' || name === 'sec-fetch-site' || isForwardedHeader(name)
  if (hasSay.size < MAX_REMEMBERED) hasSay.set(spelling, answer)
  return answer
}

/**
 * The requests of programs: a Host, and nothing else that has a say. What was let in once under a Host is let in again from the same
 * address under the same settings, without the whole decision being taken anew.
 */
function createPlainCheck(allowedHosts: () => readonly string[]) {
  let settings = allowedHosts()
  const known = new Set<string>()

  /** Undefined = the whole decision is needed. */
  function keyOf({ rawHeaders, url = '', socket }: IncomingMessage): string | undefined {
    if (!url.startsWith('/')) return undefined
    let host: string | undefined
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      const name = rawHeaders[at] ?? ''
      if (name.length === 4 && name.toLowerCase() === 'host') {
        if (host !== undefined) return undefined
        host = rawHeaders[at + 1]
      } else if (isWeighty(name)) return undefined
    }
    return host === undefined ? undefined : `${socket.remoteAddress} ${host}`
  }

  return {
    isKnown(request: IncomingMessage): boolean {
      const now = allowedHosts()
      if (now !== settings) {
        settings = now
        known.clear()
      }
      const key = keyOf(request)
      return key !== undefined && known.has(key)
    },
    remember(request: IncomingMessage): void {
      const key = keyOf(request)
      if (key !== undefined && known.size < MAX_REMEMBERED) known.add(key)
    },
  }
}

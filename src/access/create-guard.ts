import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Caller } from './caller.ts'
import type { Credentials } from './credentials.ts'
import { createOpenGuard, type Guard, type OpenDoor } from './guard.ts'
import type { LocalKey } from './local-key.ts'
import { originOf } from './request-origin.ts'
import { findOriginFault } from './rules/page-origin.ts'
import { isUpstream, routeClassOf } from './rules/route-class.ts'
import { readCredentials, type SentCredentials } from './rules/sent-credentials.ts'

export interface GuardDeps {
  readonly credentials: Credentials
  readonly localKey: Pick<LocalKey, 'accepts'>
  /** `[server]`, asked each time, so that an edit applies at once. */
  readonly allowedHosts: () => readonly string[]
  readonly trustedProxies: () => readonly string[]
  /** `--insecure`, and bound to more than this machine: without users everybody who comes is the local admin. */
  readonly insecure?: boolean
}

type Admitted = Result<Caller, Hal0Error>

const LET_IN: Admitted = ok<Caller>({ kind: 'local_admin' })
const LOCAL_KEY_START = 'hal0_local_'
const LOCKED =
  'The users of this hal0 cannot be read, so nobody comes in but its own machine; the log of the daemon says what to do.'
const SEND_A_KEY =
  'Send a key as `Authorization: Bearer KEY` or `x-api-key: KEY`; an admin makes one with `hal0 key create NAME --user USER`.'

/**
 * Who comes in, by what is defined at that moment: nobody (this machine's own requests, see `createOpenGuard`), users (keys and sessions), or users who
 * cannot be read (the daemon's own key alone). A query such as `?api_key=` is never looked at. Errors: `auth.required`, `auth.forbidden` (a page of another
 * origin). Source: SPEC 14.
 */
export function createGuard(deps: GuardDeps): { readonly guard: Guard; readonly openDoor: OpenDoor } {
  const { credentials, localKey, trustedProxies, insecure = false } = deps
  const whileOpen = insecure ? createInsecureGuard(trustedProxies) : createOpenGuard(deps)

  function byCredentials(request: IncomingMessage, sent: SentCredentials): Admitted {
    if (sent.problem !== undefined) return refused(`${sent.problem.text}.`, sent.problem.header)
    if (sent.key !== undefined) return byKey(sent.key, sent.sessions)
    if (sent.sessions.length > 0) return bySession(request, sent.sessions)
    return refused(credentials.mode === 'locked' ? LOCKED : 'This needs a key, and the request carries none.')
  }

  function byKey(key: string, sessions: readonly string[]): Admitted {
    if (key.startsWith(LOCAL_KEY_START)) {
      if (localKey.accepts(key)) return LET_IN
      return refused("This machine's own key is another since hal0 was started again; read daemon.json anew.")
    }
    const found = credentials.key(key)
    if (!found.ok && credentials.mode === 'locked') return refused(LOCKED)
    if (!found.ok) return refused(`The key is not accepted: ${found.error}.`)
    for (const token of sessions) {
      const session = credentials.session(token)
      if (session.ok && !isSame(session.value, found.value)) {
        return refused(
          'The key belongs to one user and the cookie hal0_session to another; send one of them.',
          'cookie',
        )
      }
    }
    return found
  }

  /** Of several cookies of that name the one that counts: browsers keep old ones, and those of other ports of the same host. */
  function bySession(request: IncomingMessage, sessions: readonly string[]): Admitted {
    // A page that an engine brings has the same origin as hal0's own: no browser's sign-in may stand behind what it asks for.
    if (isUpstream(request.url ?? '')) {
      return refused(
        "An engine's own pages and routes need a key; a sign-in in the browser does not count there.",
        'cookie',
      )
    }
    for (const token of sessions) {
      const found = credentials.session(token)
      if (!found.ok) continue
      const fault = faultOf(request, 'be_proven')
      return fault === undefined ? found : err(fault)
    }
    return refused('The session has ended; sign in again.', 'cookie')
  }

  function faultOf(request: IncomingMessage, must: 'not_differ' | 'be_proven'): Hal0Error | undefined {
    const fault = originFaultOf(request, trustedProxies(), must)
    if (fault === undefined) return undefined
    return Hal0Error.of('auth.forbidden', fault.reason, {
      param: fault.header,
      details: { remedy: "Use hal0's own pages, or send a key." },
    })
  }

  return {
    guard(request) {
      if (credentials.mode === 'open') return whileOpen(request)
      return refuseProxying(request) ?? byCredentials(request, readCredentials(request.rawHeaders))
    },
    openDoor(request) {
      if (credentials.mode === 'open') return whileOpen(request)
      const proxying = refuseProxying(request)
      if (proxying !== undefined) return proxying
      const fault = faultOf(request, 'not_differ')
      if (fault !== undefined) return err(fault)
      // A key or a cookie that is no good must not keep anybody from signing in.
      const known = byCredentials(request, readCredentials(request.rawHeaders))
      return known.ok ? known : ok(undefined)
    },
  }
}

/** Everybody is let in, but no page of another origin manages hal0 in somebody's browser. */
function createInsecureGuard(trustedProxies: () => readonly string[]): Guard {
  return (request) => {
    const proxying = refuseProxying(request)
    if (proxying !== undefined) return proxying
    if (routeClassOf(request.url ?? '') !== 'management') return LET_IN
    const fault = originFaultOf(request, trustedProxies(), 'not_differ')
    if (fault === undefined) return LET_IN
    return err(Hal0Error.of('auth.required', fault.reason, { param: fault.header }))
  }
}

function originFaultOf(request: IncomingMessage, trusted: readonly string[], must: 'not_differ' | 'be_proven') {
  const { method = '', url: target = '', rawHeaders } = request
  return findOriginFault({ method, target, rawHeaders, via: originOf(request, trusted) }, must)
}

function refuseProxying({ url = '' }: IncomingMessage): { readonly ok: false; readonly error: Hal0Error } | undefined {
  if (url.startsWith('/') || url === '*') return undefined
  return refused('The request target is no path; hal0 is not a proxy.')
}

function refused(message: string, param?: string): { readonly ok: false; readonly error: Hal0Error } {
  return err(
    Hal0Error.of('auth.required', message, {
      ...(param === undefined ? {} : { param }),
      details: { remedy: SEND_A_KEY },
    }),
  )
}

function isSame(one: Caller, other: Caller): boolean {
  return one.kind === 'user' && other.kind === 'user' && one.userId === other.userId
}

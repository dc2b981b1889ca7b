import { shortText } from '../../kernel/short-text.ts'
import { type Authority, isAllowedHost, isLoopbackAddress, isLoopbackHost, parseAuthority } from './authority.ts'
import { isForwardedHeader } from './forwarded-headers.ts'
import { routeClassOf } from './route-class.ts'

/** Enough to see what was sent. */
const MAX_QUOTED_CHARS = 100

export interface OpenAccessInput {
  /** The request target as it stood in the request line. */
  readonly target: string
  /** Every header line, names in any case, repeated ones repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Of the socket; undefined = already closed. */
  readonly remoteAddress: string | undefined
  /** `[server] allowed_hosts`. */
  readonly allowedHosts: readonly string[]
}

export type OpenAccessDecision =
  | { readonly allow: true }
  | {
      readonly allow: false
      /** One or two sentences: what was seen, what was expected, what to do. */
      readonly reason: string
      /** The header at fault in lower case; undefined = the connection or the request target is. */
      readonly header: string | undefined
    }

const ALLOW: OpenAccessDecision = { allow: true }
const ADVICE = 'add the name to [server] allowed_hosts in hal0.toml'

/**
 * May this request be taken for the local user's, although nobody signed in? The method does not matter: a preflight is judged like
 * the request it asks for. First match refuses:
 * 1 the connection is not from this machine; 2 the target is not a path; 3 a forwarded header; 4 Host missing, repeated, or neither
 * loopback nor allowed; 5 Origin repeated or foreign; 6 `/api` and `/metrics`: Sec-Fetch-Site says another site.
 * Foreign: on `/v1` and `/upstream` every origin whose host is neither loopback nor allowed; elsewhere every origin but the own one.
 * Source: SPEC 14 "With no user defined".
 */
export function decideOpenAccess(input: OpenAccessInput): OpenAccessDecision {
  const values = (name: string) => input.headers.filter(([n]) => n.toLowerCase() === name).map(([, value]) => value)

  if (!isLoopbackAddress(input.remoteAddress)) {
    const from = input.remoteAddress ?? 'an unknown address'
    return refuse(undefined, `Without users hal0 serves this machine only; the connection came from ${from}.`)
  }
  if (!input.target.startsWith('/') && input.target !== '*') {
    return refuse(undefined, `The request target is ${quote(input.target)}; expected a path. hal0 is not a proxy.`)
  }
  const forwarded = input.headers.find(([name]) => isForwardedHeader(name))
  if (forwarded !== undefined) {
    const header = forwarded[0].toLowerCase()
    return refuse(
      header,
      `The header ${quote(header)} says that a proxy passed this request on; without users hal0 takes requests of this machine only. Make the proxy leave that header out.`,
    )
  }

  const hosts = values('host')
  const host = hosts.length === 1 ? parseAuthority(hosts[0] ?? '') : undefined
  if (host === undefined || !isTrusted(host, input.allowedHosts)) {
    const seen = hosts.length === 0 ? 'is missing' : `is ${hosts.map(quote).join(' and ')}`
    return refuse(
      'host',
      `The Host header ${seen}; expected localhost, 127.0.0.1 or [::1]. For another name ${ADVICE}.`,
    )
  }

  const routes = routeClassOf(input.target)
  const origins = values('origin')
  if (
    origins.length > 0 &&
    !(origins.length === 1 && isOwnOrigin(origins[0] ?? '', routes, host, input.allowedHosts))
  ) {
    const expected =
      routes === 'inference'
        ? `a page of localhost or of an allowed host. For another page ${ADVICE}.`
        : `the same origin as hal0 itself (http://${hosts[0]}). Use this page under that address.`
    return refuse('origin', `The Origin header is ${origins.map(quote).join(' and ')}; expected ${expected}`)
  }

  if (routes === 'management') {
    const site = values('sec-fetch-site').find((value) => value !== 'same-origin' && value !== 'none')
    if (site !== undefined) {
      return refuse(
        'sec-fetch-site',
        `A page of another origin asked (Sec-Fetch-Site is ${quote(site)}); /api is same-origin.`,
      )
    }
  }
  return ALLOW
}

function isTrusted(authority: Authority, allowedHosts: readonly string[]): boolean {
  return isLoopbackHost(authority.host) || isAllowedHost(authority, allowedHosts)
}

/** Default ports by scheme, and with it the schemes that pages have. */
const DEFAULT_PORT: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

function isOwnOrigin(
  origin: string,
  routes: ReturnType<typeof routeClassOf>,
  host: Authority,
  allowedHosts: readonly string[],
): boolean {
  const [, scheme = '', rest = ''] = /^([a-z]+:)\/\/(.*)$/.exec(origin) ?? []
  const defaultPort = DEFAULT_PORT[scheme]
  const authority = parseAuthority(rest)
  if (defaultPort === undefined || authority === undefined) return false
  if (routes === 'inference') return isTrusted(authority, allowedHosts)
  // hal0 itself speaks http only.
  return scheme === 'http:' && authority.host === host.host && (authority.port ?? 80) === (host.port ?? 80)
}

function refuse(header: string | undefined, reason: string): OpenAccessDecision {
  return { allow: false, reason, header }
}

/**
 * What a stranger sent, safe to repeat in a message and in the log: no query and nothing that holds user info, since both may carry
 * keys. With an `@` nothing tells for sure where a secret ends.
 */
function quote(text: string): string {
  if (text.includes('@')) return 'one with user info (not repeated here)'
  const [plain = ''] = text.split(/[?#;]/, 1)
  return JSON.stringify(shortText(plain, MAX_QUOTED_CHARS))
}

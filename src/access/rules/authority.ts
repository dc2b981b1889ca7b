/** `host[:port]` of a Host header or an Origin, taken apart. */
export interface Authority {
  /** Lower case; IPv6 in its brackets. */
  readonly host: string
  /** As written; undefined = the scheme's default. */
  readonly port: number | undefined
}

/** Host names as they occur on local networks: underscores too, no empty label, no trailing dot. */
const NAME = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/
const IPV6 = /^\[[0-9a-f:.]+\]$/
const SPLIT = /^(\[[^\]]*\]|[^:[\]]*)(?::([0-9]{1,5}))?$/
const DOTTED_QUAD = /^(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}$/

/**
 * Strict on purpose: user info, a trailing dot, an empty port, spaces, paths and anything else that two programs might read
 * differently is undefined. Source: RFC 3986 3.2, RFC 9110 7.2.
 */
export function parseAuthority(text: string): Authority | undefined {
  const [, rawHost, rawPort] = SPLIT.exec(text) ?? []
  if (rawHost === undefined) return undefined
  const host = rawHost.toLowerCase()
  if (!NAME.test(host) && !IPV6.test(host)) return undefined
  const port = rawPort === undefined ? undefined : Number(rawPort)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  return { host, port }
}

/** `localhost`, 127.0.0.0/8 as four plain decimal numbers, `[::1]`; no other spelling. `host` in lower case. */
export function isLoopbackHost(host: string): boolean {
  if (host === 'localhost' || host === '[::1]') return true
  if (!DOTTED_QUAD.test(host)) return false
  const parts = host.split('.').map(Number)
  return parts[0] === 127 && parts.every((part) => part <= 255)
}

/** The address of a socket's other end, as Node gives it: `127.0.0.1`, `::1`, `::ffff:127.0.0.1`. Undefined = it is gone. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false
  if (address === '::1') return true
  return isLoopbackHost(address.toLowerCase().replace(/^::ffff:/, '')) && address !== 'localhost'
}

/** `allowed` entries are `name` (any port) or `name:port`; an entry that is no authority matches nothing. */
export function isAllowedHost(authority: Authority, allowed: readonly string[]): boolean {
  return allowed.some((entry) => {
    const wanted = parseAuthority(entry.trim())
    if (wanted === undefined || wanted.host !== authority.host) return false
    return wanted.port === undefined || wanted.port === authority.port
  })
}

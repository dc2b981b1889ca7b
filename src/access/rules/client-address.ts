import { isAddress, isInRanges } from './address-range.ts'

/** What a request says about where it comes from. Header lines as in `rawHeaders`: name, value, name, value … */
export interface RequestHead {
  readonly rawHeaders: readonly string[]
  /** The other end of the socket; undefined = it is gone. */
  readonly remoteAddress: string | undefined
}

export interface RequestOrigin {
  /** Of the client, as far as it can be believed; '' = unknown. */
  readonly address: string
  /** Did it reach the nearest trusted proxy by https? */
  readonly isHttps: boolean
  /** `host[:port]` under which the client knows hal0; undefined = it did not say, or said two. */
  readonly host: string | undefined
}

/**
 * Whose request is this, and by which way did it come? Forwarded headers count only where the socket's other end is in `trustedProxies` (addresses
 * and ranges). The chain is read from its end: the first address that is no trusted proxy's is the client's. Source: SPEC 14 `trusted_proxies`.
 */
export function clientAddressOf(head: RequestHead, trustedProxies: readonly string[]): RequestOrigin {
  const address = head.remoteAddress ?? ''
  const host = onlyOne(valuesOf(head, 'host'))
  if (!isInRanges(address, trustedProxies)) return { address, isHttps: false, host }
  return {
    address: firstStranger(address, listOf(head, 'x-forwarded-for'), trustedProxies),
    isHttps: listOf(head, 'x-forwarded-proto').at(-1)?.toLowerCase() === 'https',
    host: listOf(head, 'x-forwarded-host').at(-1) ?? host,
  }
}

function firstStranger(proxy: string, chain: readonly string[], trusted: readonly string[]): string {
  let last = proxy
  for (const hop of chain.toReversed()) {
    const address = withoutPort(hop)
    // "unknown", or anything else that a proxy may say: what is before it cannot be told.
    if (!isAddress(address)) return last
    last = address
    if (!isInRanges(address, trusted)) return last
  }
  return last
}

/** `1.2.3.4:5678`, `[::1]`, `[::1]:80` → the address. */
function withoutPort(hop: string): string {
  const inBrackets = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1]
  if (inBrackets !== undefined) return inBrackets
  return /^[^:]+:\d+$/.test(hop) ? (hop.split(':')[0] ?? hop) : hop
}

/** All values of a header, in order. `name` in lower case. */
export function valuesOf({ rawHeaders }: Pick<RequestHead, 'rawHeaders'>, name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const spelling = rawHeaders[at] ?? ''
    if (spelling.length === name.length && spelling.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}

/** A header that is a list with commas, over all its lines; empty elements are left out. */
function listOf(head: RequestHead, name: string): string[] {
  return valuesOf(head, name)
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '')
}

function onlyOne(values: readonly string[]): string | undefined {
  return values.length === 1 ? values[0] : undefined
}

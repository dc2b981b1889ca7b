/**
 * Headers by which a proxy says that it speaks for someone else. In open mode one of them is enough to refuse: the caller is then not
 * the local user whom open mode trusts. Names in lower case. Source: SPEC 14.
 */
export const FORWARDED_HEADERS: readonly string[] = [
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-host',
  'x-http-host-override',
  'x-envoy-external-address',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-ray',
  'cdn-loop',
  'fastly-client-ip',
  'fly-client-ip',
]

/** Whole families: `x-forwarded-for`, `-host`, `-proto`, …; `x-original-url`, `-forwarded-for`, …. */
export const FORWARDED_HEADER_PREFIXES: readonly string[] = [
  'x-forwarded',
  'x-original-',
  'x-proxyuser-',
  'tailscale-user-',
]

/** Does this header (any case, `_` or `-`) speak of a proxy? */
export function isForwardedHeader(name: string): boolean {
  const normal = name.toLowerCase().replaceAll('_', '-')
  return FORWARDED_HEADERS.includes(normal) || FORWARDED_HEADER_PREFIXES.some((prefix) => normal.startsWith(prefix))
}

import type { IncomingMessage } from 'node:http'
import { clientAddressOf, type RequestOrigin } from './rules/client-address.ts'

/** Where a request comes from, as far as `[server] trusted_proxies` lets it be believed. Source: SPEC 14. */
export function originOf(request: IncomingMessage, trustedProxies: readonly string[]): RequestOrigin {
  return clientAddressOf(
    { rawHeaders: request.rawHeaders, remoteAddress: request.socket.remoteAddress },
    trustedProxies,
  )
}

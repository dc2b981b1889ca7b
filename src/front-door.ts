import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Guard } from './access/guard.ts'
import type { ApiListener } from './api/api.ts'
import { errorBody } from './contract/error-body.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Hal0Error } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'

/** Longer than the pauses of a client that keeps its connection: else its next request meets a socket that is just closing. */
const KEEP_ALIVE_MS = 65_000

/** The one listening socket: who may come in, and to which room. Source: SPEC 14. */
export function createFrontDoor(rooms: {
  readonly guard: Guard
  readonly gateway: Gateway
  readonly api: ApiListener
  readonly log: Log
}): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // The management API asks the guard itself, so that no route of it can be reached around it.
    if (!isInference(request.url ?? '')) return rooms.api(request, response)
    const refusal = rooms.guard(request)
    if (refusal === undefined) return rooms.gateway.handle(request, response)
    rooms.log.warn({ code: refusal.code, reason: refusal.message }, 'request refused')
    refuse(request, response, refusal)
  })
  return server
}

function isInference(target: string): boolean {
  return target.startsWith('/v1/') || target === '/v1' || target.startsWith('/upstream/')
}

function refuse(request: IncomingMessage, response: ServerResponse, error: Hal0Error): void {
  request.resume()
  response.writeHead(error.status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(errorBody(error)))
}

/** Resolves when the server listens. Errors: Node's own (EADDRINUSE, EACCES, …), with `address` and `port`. */
export function listen(server: Server, host: string, port: number): Promise<{ readonly url: string }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const address = server.address()
      if (address === null || typeof address === 'string') return reject(new Error('the server has no address'))
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
      resolve({ url: `http://${name}:${address.port}` })
    })
  })
}

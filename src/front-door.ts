import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { roomOf } from './access/rules/route-class.ts'
import type { ApiListener } from './api/api.ts'
import { type ErrorAnswer, errorAnswer } from './contract/error-answer.ts'
import type { Gateway } from './gateway/gateway.ts'
import { Hal0Error } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'
import { newRequestId } from './kernel/request-id.ts'

/** Longer than the pauses of a client that keeps its connection: else its next request meets a socket that is just closing. */
const KEEP_ALIVE_MS = 65_000
/** Who has not sent the head of a request by then never will. */
const HEADERS_LIMIT_MS = 60_000

/** The one listening socket: which room answers. Each room asks the guard itself. Source: SPEC 14. */
export function createFrontDoor(rooms: {
  readonly gateway: Gateway
  readonly api: ApiListener
  readonly log: Log
}): Server {
  // A large upload may take its time; who stops in the middle of one is ended by the room that reads it.
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0, headersTimeout: HEADERS_LIMIT_MS })
  const answers = new WeakMap<Duplex, Set<ServerResponse>>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    follow(answers, request, response)
    if (roomOf(request.url ?? '') === 'gateway') rooms.gateway.handle(request, response)
    else rooms.api(request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    request.resume()
    const error = Hal0Error.of('request.invalid', 'The header Expect asks for what hal0 does not know; leave it out', {
      param: 'Expect',
    })
    const answer = errorAnswer(error, newRequestId(), { status: 417 })
    rooms.log.warn({ request_id: answer.headers['x-request-id'], status: answer.status }, 'request refused')
    response.writeHead(answer.status, {
      ...answer.headers,
      'content-length': Buffer.byteLength(answer.body),
      connection: 'close',
    })
    response.end(answer.body)
  })
  server.on('clientError', (cause: NodeJS.ErrnoException, socket: Duplex) => {
    if (cause.code === 'ECONNRESET' || !socket.writable) return void socket.destroy(cause)
    // In the middle of an answer anything written now would be taken for a part of it; what is on its way still leaves.
    const isAnswering = [...(answers.get(socket) ?? [])].some((response) => response.headersSent)
    if (isAnswering) return endSoon(socket)
    const answer = unreadable(cause.code)
    const facts = { request_id: answer.headers['x-request-id'], status: answer.status, reason: cause.code }
    rooms.log.warn(facts, 'a request could not be read')
    socket.write(rawAnswer(answer))
    endSoon(socket)
  })
  return server
}

/** What has been written leaves, and nothing is waited for after that: whoever sent this may never close. */
function endSoon(socket: Duplex): void {
  socket.end(() => socket.destroy())
}

/** Which answers are not finished yet on a connection? */
function follow(
  answers: WeakMap<Duplex, Set<ServerResponse>>,
  { socket }: IncomingMessage,
  response: ServerResponse,
): void {
  const open = answers.get(socket) ?? new Set()
  answers.set(socket, open.add(response))
  response.once('close', () => open.delete(response))
}

/** What the HTTP parser refused, before there was a request. */
function unreadable(code: string | undefined): ErrorAnswer {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return refusal(431, 'The headers are longer than 16 KiB in all; send less of them')
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusal(408, 'The request did not come to its end in time')
  return refusal(400, `This is not a request that HTTP knows (${code ?? 'unreadable'})`)
}

function refusal(status: number, message: string): ErrorAnswer {
  return errorAnswer(Hal0Error.of('request.invalid', message), newRequestId(), { status })
}

function rawAnswer({ status, headers, body }: ErrorAnswer): string {
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n${body}`
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

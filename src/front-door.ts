import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { roomOf } from './access/rules/route-class.ts'
import type { ApiListener } from './api/api.ts'
import { type ErrorAnswer, errorAnswer } from './contract/error-answer.ts'
import { openFileLimit } from './files/open-file-limit.ts'
import type { Gateway } from './gateway/gateway.ts'
import { Hal0Error } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'
import { newRequestId } from './kernel/request-id.ts'

/** Longer than the pauses of a client that keeps its connection: else its next request meets a socket that is just closing. */
const KEEP_ALIVE_MS = 65_000
/** Who has not sent the head of a request by then never will. */
const HEADERS_LIMIT_MS = 60_000

/** Node keeps a thousand headers, names and values in turn, and drops the rest without a word: one of them could be what a guard looks for. */
const MAX_RAW_HEADERS = 2_000
/** Files that hal0 needs for itself: logs, settings, state, looks at engines. */
const OWN_FILES = 128
const MIN_CONNECTIONS = 16
const CROWD_TOLD_MS = 60_000

/** The one listening socket: which room answers. Each room asks the guard itself. Source: SPEC 14. */
export function createFrontDoor(rooms: {
  readonly gateway: Gateway
  readonly api: ApiListener
  readonly log: Log
  /** Absent = what the limit of open files allows. */
  readonly maxConnections?: number
}): Server {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    // A large upload may take its time; who stops in the middle of one is ended by the room that reads it.
    requestTimeout: 0,
    headersTimeout: HEADERS_LIMIT_MS,
    // Refused below, in the same words as all else.
    requireHostHeader: false,
  })
  server.maxConnections = rooms.maxConnections ?? mostConnections(openFileLimit())
  let isCrowdTold = false
  server.on('drop', () => {
    if (isCrowdTold) return
    isCrowdTold = true
    setTimeout(() => {
      isCrowdTold = false
    }, CROWD_TOLD_MS).unref()
    const reason = 'the limit of open files (LimitNOFILE= of the service, ulimit -n) allows no more'
    rooms.log.warn({ connections: server.maxConnections, reason }, 'connections of clients are refused')
  })
  const answers = new WeakMap<Duplex, ServerResponse | ServerResponse[]>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    follow(answers, request, response)
    const fault = faultOf(request)
    if (fault !== undefined) return refuse(rooms.log, request, response, fault)
    if (roomOf(request.url ?? '') === 'gateway') rooms.gateway.handle(request, response)
    else rooms.api(request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const error = Hal0Error.of('request.invalid', 'The header Expect asks for what hal0 does not know; leave it out', {
      param: 'Expect',
    })
    refuse(rooms.log, request, response, errorAnswer(error, newRequestId(), { status: 417 }))
  })
  server.on('clientError', (cause: NodeJS.ErrnoException, socket: Duplex) => {
    if (cause.code === 'ECONNRESET' || !socket.writable) return void socket.destroy(cause)
    // In the middle of an answer anything written now would be taken for a part of it; what is on its way still leaves.
    const isAnswering = [answers.get(socket) ?? []].flat().some((one) => one.headersSent && !one.closed)
    if (isAnswering) return endSoon(socket)
    const answer = unreadable(cause.code)
    const facts = { request_id: answer.headers['x-request-id'], status: answer.status, reason: cause.code }
    rooms.log.warn(facts, 'a request could not be read')
    socket.write(rawAnswer(answer))
    endSoon(socket)
  })
  return server
}

/** What is wrong with a request before anybody looks at what it asks for. */
function faultOf({ rawHeaders, headers, httpVersion }: IncomingMessage): ErrorAnswer | undefined {
  if (rawHeaders.length >= MAX_RAW_HEADERS)
    return refusal(431, 'These are a thousand headers or more; send less of them')
  if (headers.host === undefined && httpVersion === '1.1') {
    return refusal(400, 'A request of HTTP/1.1 needs the header Host')
  }
  return undefined
}

function refuse(log: Log, request: IncomingMessage, response: ServerResponse, answer: ErrorAnswer): void {
  request.resume()
  log.warn({ request_id: answer.headers['x-request-id'], status: answer.status }, 'request refused')
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
    connection: 'close',
  })
  response.end(answer.body)
}

/**
 * How many clients may be connected, so that hal0 always has files for what it does itself: each may need a connection to an engine too, and
 * without any left healthy engines can neither be reached nor looked after. `files`: how many may be open in all; undefined = unknown.
 */
export function mostConnections(files: number | undefined): number {
  if (files === undefined) return Number.POSITIVE_INFINITY
  return Math.max(MIN_CONNECTIONS, Math.floor((files - OWN_FILES) / 2))
}

/** What has been written leaves, and nothing is waited for after that: whoever sent this may never close. */
function endSoon(socket: Duplex): void {
  socket.end(() => socket.destroy())
}

/** Which answers are not finished yet on a connection? Nearly always one; more only where a client sends requests without waiting. */
function follow(
  answers: WeakMap<Duplex, ServerResponse | ServerResponse[]>,
  { socket }: IncomingMessage,
  response: ServerResponse,
): void {
  const before = answers.get(socket)
  if (before === undefined || (!Array.isArray(before) && before.closed)) {
    answers.set(socket, response)
    return
  }
  const open = [before].flat().filter((one) => !one.closed)
  answers.set(socket, [...open, response])
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

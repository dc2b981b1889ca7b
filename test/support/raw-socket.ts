import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A connection that says exactly what the test says, and keeps what comes, byte for byte. It ends with the test. */
export interface RawSocket {
  readonly socket: Socket
  /** All that has come so far. */
  bytes(): Buffer
  /** The same, a byte a character. */
  text(): string
  /** Resolves with the text so far once it contains `part`; rejects when the connection ends without it. */
  until(part: string): Promise<string>
  /** Resolves with all of it when the other side has closed. */
  readonly ended: Promise<string>
}

/** Connects to a port of 127.0.0.1 and says `words` at once. */
export function dial(port: number, words: string | Buffer = ''): RawSocket {
  const socket = connect(port, '127.0.0.1')
  const pieces: Buffer[] = []
  const watchers = new Set<() => void>()
  let isOver = false
  const bytes = (): Buffer => Buffer.concat(pieces)
  const text = (): string => bytes().toString('latin1')
  const tell = (): void => {
    for (const watcher of [...watchers]) watcher()
  }
  const wait = (isDone: () => boolean, isEnough: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isDone() && !isOver) return
        watchers.delete(look)
        if (isEnough()) resolve(text())
        else reject(new Error(`the connection ended: ${text().slice(0, 500)}`))
      }
      watchers.add(look)
      look()
    })
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece)
    tell()
  })
  // What there is to know comes with 'close'.
  socket.on('error', () => {})
  socket.on('close', () => {
    isOver = true
    tell()
  })
  onTestFinished(() => void socket.destroy())
  if (words.length > 0) socket.write(words)
  return {
    socket,
    bytes,
    text,
    until: (part) =>
      wait(
        () => text().includes(part),
        () => text().includes(part),
      ),
    ended: wait(
      () => isOver,
      () => true,
    ),
  }
}

/** One request as it came on a connection of a `SocketEngine`. */
export interface SocketRequest {
  /** From 1, over all connections. */
  readonly n: number
  /** From 1. */
  readonly connection: number
  readonly socket: Socket
  /** Request line and headers, without the empty line. */
  readonly head: string
  /** As it came, its chunks included. */
  readonly body: Buffer
}

/** An engine of bare sockets: what it answers is written by the test, byte by byte. */
export interface SocketEngine {
  readonly origin: string
  readonly requests: readonly SocketRequest[]
  /** Those that were opened so far. */
  connections(): number
  /** Those that are open now. */
  open(): number
}

/**
 * Calls `onRequest` for each whole request, or, with `when: 'head'`, as soon as its head has come (then what comes after it is thrown away).
 * `onConnect` sees each connection first. The engine ends with the test.
 */
export async function startSocketEngine(
  onRequest: (request: SocketRequest) => void,
  options: { readonly when?: 'whole' | 'head'; readonly onConnect?: (socket: Socket, nth: number) => void } = {},
): Promise<SocketEngine> {
  const requests: SocketRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = ++connections
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    options.onConnect?.(socket, connection)
    let seen: Buffer = Buffer.alloc(0)
    let isDeaf = false
    socket.on('data', (piece: Buffer) => {
      if (isDeaf) return
      seen = seen.length === 0 ? piece : Buffer.concat([seen, piece])
      for (;;) {
        // The empty line of a side that looks after its connection.
        while (seen[0] === 0x0d || seen[0] === 0x0a) seen = seen.subarray(1)
        const end = seen.indexOf('\r\n\r\n')
        if (end < 0) return
        const head = seen.toString('latin1', 0, end)
        const bodyEnd = options.when === 'head' ? end + 4 : endOfBody(head, seen, end + 4)
        if (bodyEnd === undefined) return
        const body = Buffer.from(seen.subarray(end + 4, bodyEnd))
        seen = seen.subarray(bodyEnd)
        isDeaf = options.when === 'head'
        const request = { n: requests.length + 1, connection, socket, head, body }
        requests.push(request)
        onRequest(request)
        if (isDeaf) return
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    open: () => sockets.size,
  }
}

/** Undefined = it has not come yet. */
function endOfBody(head: string, bytes: Buffer, from: number): number | undefined {
  const length = /^content-length: *(\d+)/im.exec(head)?.[1]
  if (length !== undefined) return bytes.length - from < Number(length) ? undefined : from + Number(length)
  if (!/^transfer-encoding: *chunked/im.test(head)) return from
  const end = bytes.indexOf('0\r\n\r\n', from)
  return end < 0 ? undefined : end + 5
}

/** A JSON answer of a chat, whole, with the head that goes with it. */
export function chatAnswer(content: string, headers: readonly string[] = []): string {
  const body = JSON.stringify({
    id: 'x',
    object: 'chat.completion',
    model: 'agent',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  })
  const lines = [
    'HTTP/1.1 200 OK',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

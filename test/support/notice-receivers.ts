import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ReceivedHook {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A webhook's other end on a port of the kernel's. */
export interface HookReceiver {
  readonly url: string
  readonly got: ReceivedHook[]
  /** How the next ones are answered; `never`: not at all. */
  answer: number | 'never'
  close(): Promise<void>
}

export async function startHookReceiver(): Promise<HookReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      receiver.got.push({ path: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() })
      if (receiver.answer === 'never') return
      response.writeHead(receiver.answer, { location: '/elsewhere' }).end('words of the receiver')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: HookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/t0ken-in-path`,
    got: [],
    answer: 204,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly isEncrypted: boolean
  readonly user: string | undefined
  /** As sent: headers, an empty line, text. */
  readonly source: string
}

export interface MailReceiver {
  readonly port: number
  readonly got: ReceivedMail[]
  close(): Promise<void>
}

/** A mail server on a port of the kernel's; by itself without TLS and sign-in. */
export async function startMailReceiver(options: SMTPServerOptions = {}): Promise<MailReceiver> {
  const got: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        got.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isEncrypted: session.secure,
          user: typeof session.user === 'string' ? session.user : undefined,
          source: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
    ...options,
  })
  // A client that refuses a certificate ends the connection.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.server.address() as AddressInfo).port,
    got,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Takes connections and says nothing. */
export async function startSilentServer(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<{ destroy(): void }>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

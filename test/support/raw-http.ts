import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'

export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly text: string
  /** Parsed `text`. */
  json(): Record<string, unknown>
}

export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: unknown
}

/** An answer that has begun; the test reads it as it likes. */
export interface OpenAnswer {
  readonly req: ClientRequest
  readonly res: IncomingMessage
  /** Resolves with the text so far once it contains `part`; rejects when the answer ends without it. */
  until(part: string): Promise<string>
  /** The rest, to the end. Rejects when the connection breaks. */
  rest(): Promise<string>
  leave(): void
}

/** Starts a request on a connection of its own, exactly as given: no library between the test and the bytes. */
export function start(origin: string, raw: RawRequest): ClientRequest {
  const body = raw.body === undefined ? undefined : bodyBytes(raw.body)
  const req = request(origin + raw.path, {
    method: raw.method ?? (body === undefined ? 'GET' : 'POST'),
    agent: false,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(body.length) }),
      ...raw.headers,
    },
  })
  // Tests look at the outcome, not at the event.
  req.on('error', () => {})
  req.end(body)
  return req
}

function bodyBytes(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Sends and reads to the end. */
export async function send(origin: string, raw: RawRequest): Promise<RawAnswer> {
  const opened = await open(origin, raw)
  const text = await opened.rest()
  const { res } = opened
  return {
    status: res.statusCode ?? 0,
    headers: res.headers,
    rawHeaders: res.rawHeaders,
    text,
    json: () => JSON.parse(text) as Record<string, unknown>,
  }
}

/** Sends and resolves when the answer's head has come. */
export async function open(origin: string, raw: RawRequest): Promise<OpenAnswer> {
  const req = start(origin, raw)
  const [res] = (await Promise.race([
    once(req, 'response'),
    once(req, 'close').then(() => Promise.reject(new Error('the connection closed without an answer'))),
  ])) as [IncomingMessage]
  res.setEncoding('utf8')
  return {
    req,
    res,
    until: (part) =>
      new Promise((resolve, reject) => {
        let text = ''
        const onData = (chunk: string): void => {
          text += chunk
          if (!text.includes(part)) return
          res.off('data', onData)
          res.pause()
          resolve(text)
        }
        res.on('data', onData)
        res.once('end', () => reject(new Error(`the answer ended without ${part}: ${text}`)))
        res.once('error', reject)
        res.resume()
      }),
    async rest() {
      let text = ''
      for await (const chunk of res) text += String(chunk)
      return text
    },
    leave: () => req.destroy(),
  }
}

/** The `data:` payloads of an event stream. */
export function eventsOf(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: ?/, ''))
}

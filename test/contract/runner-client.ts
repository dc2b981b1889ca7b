import { type ClientRequest, type IncomingMessage, request } from 'node:http'

/** Where an engine answers and what proves that it may be asked. */
export interface EngineAddress {
  readonly origin: string
  readonly key: string
}

interface Choice {
  readonly finish_reason: string | null
  readonly message: { readonly role: string; readonly content: string }
  readonly delta: { readonly role?: string; readonly content?: string | null }
  readonly text: string
}

/**
 * Members of the answers that tests read. Each answer has some of them; one that lacks what a test reads fails that test, which is
 * what the test is for.
 */
export interface EngineJson {
  readonly choices: readonly [Choice, ...Choice[]]
  readonly usage: {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly total_tokens: number
  }
  readonly data: readonly [EngineRow, ...EngineRow[]]
  readonly tokens: readonly number[]
  readonly total_slots: number
  readonly prompt: string
  readonly error: {
    readonly message: string
    readonly type: string
    readonly code: number
    readonly n_prompt_tokens: number
  }
}

/** A row of `/v1/models` or `/v1/embeddings`. */
export interface EngineRow {
  readonly id: string
  readonly embedding: readonly number[] | string
}

/** One event of a stream: `[DONE]`, or an object whose `choices` may be empty. */
export interface EngineEvent extends Omit<EngineJson, 'choices'> {
  readonly choices: readonly Choice[]
}

export interface EngineAnswer {
  readonly status: number
  readonly text: string
  readonly json: EngineJson
}

async function answerOf(response: Response): Promise<EngineAnswer> {
  const text = await response.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, text, json: json as EngineJson }
}

export async function get(
  engine: EngineAddress,
  path: string,
  headers?: Record<string, string>,
): Promise<EngineAnswer> {
  return answerOf(await fetch(engine.origin + path, { headers: headers ?? { authorization: `Bearer ${engine.key}` } }))
}

/** `body`: JSON, or a text that is sent as it stands. */
export async function post(engine: EngineAddress, path: string, body: unknown): Promise<EngineAnswer> {
  return answerOf(
    await fetch(engine.origin + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${engine.key}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )
}

/** The events of a whole stream and whether `[DONE]` was the last. */
export function eventsOf(text: string): { readonly events: readonly EngineEvent[]; readonly done: boolean } {
  const parts = text
    .split(/\r?\n\r?\n/)
    .map((event) => event.trim().replace(/^data: /, ''))
    .filter((event) => event !== '')
  const done = parts.at(-1) === '[DONE]'
  const events = (done ? parts.slice(0, -1) : parts).map((part) => JSON.parse(part) as EngineEvent)
  return { events, done }
}

/** A request whose answer the test reads, or does not read, as it likes. */
export interface OpenRequest {
  readonly request: ClientRequest
  /** Resolves with the head of the answer. */
  readonly response: Promise<IncomingMessage>
  /** Cuts the connection. */
  leave(): void
}

/** Sends a request on a connection of its own. Leaving it never fails the test. */
export function open(engine: EngineAddress, path: string, body: unknown): OpenRequest {
  const text = JSON.stringify(body)
  const headers = { authorization: `Bearer ${engine.key}`, 'content-length': Buffer.byteLength(text) }
  const sent = request(engine.origin + path, { method: 'POST', headers, agent: false })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', (message) => {
      message.on('error', () => {})
      resolve(message)
    })
    sent.once('error', reject)
  })
  response.catch(() => {})
  sent.on('error', () => {})
  sent.end(text)
  return { request: sent, response, leave: () => sent.destroy() }
}

/** The first bytes of an answer's body. */
export async function firstChunk(opened: OpenRequest): Promise<string> {
  const response = await opened.response
  return new Promise((resolve, reject) => {
    response.once('data', (chunk: Buffer) => {
      response.pause()
      resolve(chunk.toString('utf8'))
    })
    response.once('close', () => reject(new Error('the answer ended before its first chunk')))
  })
}

/** One of llama-server's metrics by its name without prefix. */
export async function metric(engine: EngineAddress, name: string): Promise<number> {
  const { text } = await get(engine, '/metrics')
  const value = new RegExp(`^llamacpp:${name} (\\S+)$`, 'm').exec(text)?.[1]
  if (value === undefined) throw new Error(`no metric llamacpp:${name} in\n${text}`)
  return Number(value)
}

import { Agent, type RequestInit, type Response, fetch as undiciFetch } from 'undici'
import type { z } from 'zod'
import { errorBodySchema } from '../contract/error-body.ts'
import { parseJson } from '../kernel/read-json.ts'
import { ClientError, UnreachableError } from './client-errors.ts'
import { createSseParser, type SseMessage } from './sse-parser.ts'

export type FetchLike = (url: string, init: RequestInit) => Promise<Response>

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Ends the call; it then rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
}

/** Calls to one daemon. Errors: `ClientError` (it answered with an error), `UnreachableError` (it did not answer). */
export interface Http {
  send(path: string, options?: CallOptions): Promise<Response>
  json<T>(schema: z.ZodType<T>, path: string, options?: CallOptions): Promise<T>
  text(path: string, options?: CallOptions): Promise<string>
  /** Server-sent events until the daemon ends the stream; leaving the loop closes the connection. */
  events(path: string, options?: CallOptions): AsyncGenerator<SseMessage, void, void>
}

export interface HttpOptions {
  /** For tests. The default has no time limits. */
  readonly fetch?: FetchLike | undefined
  /** An API key, visible ASCII; sent with every call. Absent = none is sent. */
  readonly key?: string | undefined
}

export function createHttp(baseUrl: string, { fetch = patientFetch(), key }: HttpOptions = {}): Http {
  const base = baseUrl.replace(/\/+$/, '')

  /** The caller's own abort keeps its reason; everything else means that nobody answers. */
  function failure(thrown: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted === true) return signal.reason
    return new UnreachableError(base, thrown)
  }

  async function send(path: string, options: CallOptions = {}): Promise<Response> {
    const headers = {
      accept: 'application/json',
      ...options.headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    }
    const init: RequestInit = {
      method: options.method ?? 'GET',
      headers: options.body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      redirect: 'error',
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    }
    let response: Response
    try {
      response = await fetch(base + path + queryText(options.query), init)
    } catch (thrown) {
      throw failure(thrown, options.signal)
    }
    if (response.status >= 400) {
      const remedy = response.status === 401 && key === undefined ? KEY_NEEDED : undefined
      throw errorOf(response, await readText(response, options.signal), remedy)
    }
    return response
  }

  async function readText(response: Response, signal: AbortSignal | undefined): Promise<string> {
    try {
      return await response.text()
    } catch (thrown) {
      throw failure(thrown, signal)
    }
  }

  async function text(path: string, options: CallOptions = {}): Promise<string> {
    return readText(await send(path, options), options.signal)
  }

  async function* events(path: string, options: CallOptions = {}): AsyncGenerator<SseMessage, void, void> {
    const response = await send(path, { ...options, headers: { ...options.headers, accept: 'text/event-stream' } })
    const type = response.headers.get('content-type') ?? 'no content type'
    if (response.body === null || !type.startsWith('text/event-stream')) {
      await response.body?.cancel()
      throw unexpected(response.status, `expected a stream of events from ${path}, got ${type}`)
    }
    const parser = createSseParser()
    const decoder = new TextDecoder()
    // Not one try around the yield: an error of whoever reads this generator must not be taken for the daemon's.
    const chunks = response.body[Symbol.asyncIterator]()
    try {
      while (true) {
        let chunk: IteratorResult<Uint8Array>
        try {
          chunk = await chunks.next()
        } catch (thrown) {
          throw failure(thrown, options.signal)
        }
        if (chunk.done === true) return
        yield* parser.push(decoder.decode(chunk.value, { stream: true }))
      }
    } finally {
      await chunks.return?.().catch(() => {})
    }
  }

  return {
    send,
    text,
    events,
    async json(schema, path, options) {
      const body = await text(path, options)
      const parsed = schema.safeParse(parseJson(body))
      if (!parsed.success) throw unexpected(200, `the answer of ${path} has another shape than this version expects`)
      return parsed.data
    },
  }
}

/** A load may take minutes before its first byte: no time limit of the library may cut it. */
function patientFetch(): FetchLike {
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  return (url, init) => undiciFetch(url, { ...init, dispatcher })
}

/** What helps who sent no key: the daemon cannot know how its clients are given one. */
const KEY_NEEDED = 'Set HAL0_API_KEY to a key; an admin makes one with `hal0 key create NAME --user U`.'

/** `remedy`: in the place of the daemon's own, unless a header is at fault, such as a Host that it does not know. */
function errorOf(response: Response, body: string, remedy: string | undefined): ClientError {
  const parsed = errorBodySchema.safeParse(parseJson(body))
  if (!parsed.success) return unexpected(response.status, `HTTP ${response.status}: ${body.slice(0, 200) || '(empty)'}`)
  const { error } = parsed.data
  const isKept = remedy === undefined || (error.param !== null && error.param !== 'authorization')
  const told = isKept ? error : { ...error, details: { ...error.details, remedy } }
  return errorFromBody(told, response.status, response.headers.get('retry-after'))
}

/** `status` 0: the error came as an event of a stream that had begun. */
export function errorFromBody(
  error: z.infer<typeof errorBodySchema>['error'],
  status: number,
  retryAfter: string | null,
): ClientError {
  const { remedy, retry_after_s: retryAfterS } = error.details
  const seconds = typeof retryAfterS === 'number' ? retryAfterS : Number(retryAfter ?? Number.NaN)
  return new ClientError({
    code: error.code,
    type: error.type,
    message: error.message,
    status,
    remedy: typeof remedy === 'string' ? remedy : undefined,
    param: error.param ?? undefined,
    retryAfterS: Number.isFinite(seconds) && seconds >= 1 ? seconds : undefined,
    details: error.details,
  })
}

export function unexpected(status: number, message: string): ClientError {
  return new ClientError({
    code: 'unexpected_answer',
    status,
    message: `Not an answer of a hal0 daemon: ${message}`,
    remedy: 'Check that HAL0_API_URL or --url names a hal0 daemon of the same version.',
  })
}

function queryText(query: CallOptions['query']): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) params.set(name, String(value))
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

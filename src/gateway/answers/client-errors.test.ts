import { createServer, type RequestListener, type Server } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_DIALECTS, type ApiDialect } from '../../contract/api-dialect.ts'
import { errorAnswer } from '../../contract/error-answer.ts'
import { errorEventBody } from '../../contract/error-event.ts'
import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import { Hal0Error, type RetryableCode } from '../../kernel/errors.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createEventFilter } from './sse-filter.ts'

/** The official clients read what hal0 says when it fails, in each dialect. */
const CODES = Object.keys(errorRegistry).filter((code): code is ErrorCode => code in errorRegistry)
const REQUEST_ID = 'req-1'
type ErrorClass = abstract new (...args: never[]) => Error

let server: Server
let answer: RequestListener = () => {}
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  server = createServer((req, res) => {
    req.resume()
    req.on('end', () => answer(req, res))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'k', maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: origin, apiKey: 'k', authToken: null, maxRetries: 0 })
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
const message = { ...chat, max_tokens: 9 }

function isRetryable(code: ErrorCode): code is RetryableCode {
  return errorRegistry[code].retry === 'after'
}
function failure(code: ErrorCode): Hal0Error {
  const options = { param: 'model', details: { slot: 'a' } }
  return isRetryable(code)
    ? Hal0Error.of(code, 'it failed', { ...options, retryAfterS: 7 })
    : finalFailure(code, options)
}
function finalFailure(code: Exclude<ErrorCode, RetryableCode>, options: { param: string; details: { slot: string } }) {
  return Hal0Error.of(code, 'it failed', options)
}
async function thrownBy(attempt: () => PromiseLike<unknown>): Promise<unknown> {
  try {
    await attempt()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('before an answer', () => {
  const classOf = (status: number) =>
    new Map<number, [ErrorClass, ErrorClass, string]>([
      [400, [OpenAI.BadRequestError, Anthropic.BadRequestError, 'invalid_request_error']],
      [401, [OpenAI.AuthenticationError, Anthropic.AuthenticationError, 'authentication_error']],
      [403, [OpenAI.PermissionDeniedError, Anthropic.PermissionDeniedError, 'permission_error']],
      [404, [OpenAI.NotFoundError, Anthropic.NotFoundError, 'not_found_error']],
      [409, [OpenAI.ConflictError, Anthropic.ConflictError, 'conflict_error']],
      [413, [OpenAI.APIError, Anthropic.APIError, 'request_too_large']],
      [422, [OpenAI.UnprocessableEntityError, Anthropic.UnprocessableEntityError, 'invalid_request_error']],
      [429, [OpenAI.RateLimitError, Anthropic.RateLimitError, 'rate_limit_error']],
      [500, [OpenAI.InternalServerError, Anthropic.InternalServerError, 'api_error']],
      [501, [OpenAI.InternalServerError, Anthropic.InternalServerError, 'api_error']],
      [502, [OpenAI.InternalServerError, Anthropic.InternalServerError, 'api_error']],
      [503, [OpenAI.InternalServerError, Anthropic.InternalServerError, 'api_error']],
      [504, [OpenAI.InternalServerError, Anthropic.InternalServerError, 'timeout_error']],
      [507, [OpenAI.InternalServerError, Anthropic.InternalServerError, 'api_error']],
    ]).get(status)

  it.each(CODES)('%s', async (code) => {
    const error = failure(code)
    const known = classOf(error.status)
    if (known === undefined) throw new Error(`no client class is expected for ${error.status}`)
    const [openaiClass, anthropicClass, word] = known
    const retryAfter = isRetryable(code) ? '7' : null
    let dialect: ApiDialect = 'openai'
    answer = (_req, res) => {
      const told = errorAnswer(error, REQUEST_ID, { dialect })
      res.writeHead(told.status, told.headers).end(told.body)
    }
    for (dialect of ['openai', 'responses'] as const) {
      const thrown = await thrownBy(() => openai.chat.completions.create(chat))
      expect(thrown).toBeInstanceOf(openaiClass)
      expect(thrown).toMatchObject({
        status: error.status,
        message: `${error.status} it failed`,
        code,
        param: 'model',
        type: errorRegistry[code].type,
        requestID: REQUEST_ID,
        error: { details: { slot: 'a', remedy: errorRegistry[code].remedy, request_id: REQUEST_ID } },
      })
      if (thrown instanceof OpenAI.APIError) expect(thrown.headers?.get('retry-after')).toBe(retryAfter)
    }

    dialect = 'anthropic'
    const thrown = await thrownBy(() => anthropic.messages.create(message))
    expect(thrown).toBeInstanceOf(anthropicClass)
    expect(thrown).toMatchObject({
      status: error.status,
      type: error.status === 503 && isRetryable(code) ? 'overloaded_error' : word,
      requestID: REQUEST_ID,
      error: {
        type: 'error',
        error: { message: 'it failed', code, details: { slot: 'a', error_code: code } },
        request_id: REQUEST_ID,
      },
    })
    if (thrown instanceof Anthropic.APIError) expect(thrown.headers?.get('retry-after')).toBe(retryAfter)
  })
})

describe('in the middle of a stream', () => {
  const error = Hal0Error.of('dispatch.stalled', 'it failed')
  const first: Readonly<Record<ApiDialect, string>> = {
    openai: 'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
    responses: 'event: response.created\ndata: {"type":"response.created","response":{"id":"r","output":[]}}\n\n',
    anthropic:
      'event: message_start\ndata: {"type":"message_start","message":{"id":"i","content":[],"usage":{"input_tokens":1,"output_tokens":0}}}\n\n',
  }
  /** What came of the event in which the engine died. */
  const rests = [
    ['nothing of the next event', ''],
    ['its name', 'event: x\n'],
    ['half of its data', 'event: x\ndata: {"type":"x'],
    ['a comment', ': x\n'],
  ]
  const attempts: Readonly<Record<ApiDialect, readonly (readonly [string, () => PromiseLike<unknown>])[]>> = {
    openai: [
      ['chat', async () => readAll(await openai.chat.completions.create({ ...chat, stream: true }))],
      ['chat helper', () => openai.chat.completions.stream(chat).finalChatCompletion()],
      ['completions', async () => readAll(await openai.completions.create({ model: 'm', prompt: 'hi', stream: true }))],
    ],
    responses: [
      ['responses', async () => readAll(await openai.responses.create({ model: 'm', input: 'hi', stream: true }))],
      ['responses helper', () => openai.responses.stream({ model: 'm', input: 'hi' }).finalResponse()],
    ],
    anthropic: [
      ['messages', async () => readAll(await anthropic.messages.create({ ...message, stream: true }))],
      ['messages helper', () => anthropic.messages.stream(message).finalMessage()],
    ],
  }
  const rows = API_DIALECTS.flatMap((dialect) =>
    attempts[dialect].flatMap(([name, attempt]) =>
      rests.map(([what, rest = '']) => ({ dialect, name, attempt, what, rest })),
    ),
  )

  it.each(rows)('$name reads the error after $what', async ({ dialect, attempt, rest }) => {
    let readBefore = 0
    answer = (_req, res) => {
      const filter = createEventFilter({ askedName: 'm', dialect, dropsUsageChunk: false })
      res.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': REQUEST_ID })
      // The clients pass over signs of life.
      createSignOfLife(dialect, (bytes) => res.write(bytes))
      const sent = filter.push(Buffer.from(first[dialect] + rest))
      readBefore = sent.length
      res.write(sent)
      res.end(filter.errorEvent(errorEventBody(error, REQUEST_ID, dialect)))
    }
    const thrown = await thrownBy(attempt)
    expect(readBefore).toBeGreaterThan(0)
    if (dialect === 'anthropic') {
      expect(thrown).toBeInstanceOf(Anthropic.APIError)
      expect(thrown).toMatchObject({
        type: 'timeout_error',
        error: { type: 'error', error: { message: 'it failed', code: 'dispatch.stalled' }, request_id: REQUEST_ID },
      })
      return
    }
    expect(thrown).toBeInstanceOf(OpenAI.APIError)
    expect(thrown).toMatchObject({
      message: 'it failed',
      code: 'dispatch.stalled',
      type: 'server_error',
      param: null,
      error: { details: { request_id: REQUEST_ID } },
    })
  })

  it("the error of the Responses API has that API's own keys too", () => {
    expect(errorEventBody(error, REQUEST_ID, 'responses')).toMatchObject({
      type: 'error',
      code: 'dispatch.stalled',
      message: 'it failed',
      param: null,
    })
  })
})

async function readAll(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _event of stream);
}

/** One, at once. */
function createSignOfLife(dialect: ApiDialect, send: (bytes: Buffer) => void): void {
  let fire = (): void => {}
  let nowMs = 0
  const clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    setTimer: (_delayMs: number, timer: () => void) => {
      fire = timer
      return () => {}
    },
  }
  createHeartbeat(clock, 1, send, { dialect }).start()
  nowMs = 1
  fire()
}

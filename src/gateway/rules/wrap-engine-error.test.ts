import { expect, it } from 'vitest'
import { errorAnswer } from '../../contract/error-answer.ts'
import { wrapEngineError } from './wrap-engine-error.ts'

function told(status: number, body: unknown, retryAfter?: string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { error, ...as } = wrapEngineError({ slot: 'a', status, retryAfter, body: text })
  const answer = errorAnswer(error, 'r', as)
  return { ...answer, error: (JSON.parse(answer.body) as { error: Record<string, unknown> }).error }
}

it.each([
  [400, 400, 'request.invalid', undefined],
  [404, 404, 'request.invalid', undefined],
  [418, 418, 'request.invalid', undefined],
  [401, 502, 'dispatch.upstream_unavailable', undefined],
  [403, 502, 'dispatch.upstream_unavailable', undefined],
  [429, 429, 'dispatch.queue_full', '1'],
  [500, 500, 'dispatch.upstream_unavailable', undefined],
  [503, 503, 'dispatch.upstream_unavailable', undefined],
  [599, 599, 'dispatch.upstream_unavailable', undefined],
  [301, 502, 'dispatch.upstream_unavailable', undefined],
  [304, 502, 'dispatch.upstream_unavailable', undefined],
  [600, 502, 'dispatch.upstream_unavailable', undefined],
  [999, 502, 'dispatch.upstream_unavailable', undefined],
])('status %i is told as %i %s', (status, expected, code, retryAfter) => {
  const answer = told(status, { error: { message: 'm', code: status } })
  expect([answer.status, answer.error['code'], answer.headers['retry-after']]).toEqual([expected, code, retryAfter])
  expect(answer.error['details']).toMatchObject({ slot: 'a', status, engine: { message: 'm', code: status } })
})

it('a model that loads cures itself', () => {
  const body = { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }
  expect(told(503, body)).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1' },
    error: { code: 'slot.loading', type: 'unavailable_error' },
  })
})

it.each([
  ['7', '7'],
  ['0', '1'],
  ['Wed, 21 Oct 2026 07:28:00 GMT', '1'],
  ['-3', '1'],
])('Retry-After %s becomes %s', (header, expected) => {
  expect(told(429, '{}', header).headers['retry-after']).toBe(expected)
})

it.each<[string, unknown, string, string]>([
  ["OpenAI's shape", { error: { message: 'm', type: 't', param: 'p' } }, 'm', 't'],
  ['a type that is no text', { error: { message: 'm', type: 7 } }, 'm', 'invalid_request_error'],
  ['an error that is a text', { error: 'm' }, 'm', 'invalid_request_error'],
  ["FastAPI's shape", { detail: 'm' }, 'm', 'invalid_request_error'],
  ['a bare message', { message: 'm', type: 't' }, 'm', 't'],
  ['a text', 'm\n', 'm', 'invalid_request_error'],
  ['nothing', '', 'The engine of slot "a" answered with status 400', 'invalid_request_error'],
  ['a list', [1], '[1]', 'invalid_request_error'],
])('%s', (_name, body, message, type) => {
  expect(told(400, body).error).toMatchObject({ message, type })
})

it('keeps a long message within bounds', () => {
  expect(String(told(400, { error: { message: 'x'.repeat(5_000) } }).error['message'])).toHaveLength(2_001)
  expect(String(told(400, 'x'.repeat(5_000)).error['message'])).toHaveLength(501)
})

// llama-server calls it its own fault, and tells to change a setting that the client cannot reach.
it.each([
  ['input (2101 tokens) is too large to process. increase the physical batch size (current batch size: 64)', 2101, 64],
  ['input is too large to process. increase the physical batch size', undefined, undefined],
])('an input that does not fit into one step is refused with the limit: %s', (message, sent, limit) => {
  const answer = told(500, { error: { code: 500, message, type: 'server_error' } })
  expect([answer.status, answer.error['code'], answer.error['type']]).toEqual([
    400,
    'request.invalid',
    'invalid_request_error',
  ])
  if (sent !== undefined) expect(answer.error['message']).toMatch(/2101 tokens .* slot "a" .* 64 tokens/)
  expect(answer.error['details']).toMatchObject({
    remedy: expect.stringContaining('`hal0 slot restart a`'),
    engine: { message },
    ...(sent === undefined ? {} : { sent_tokens: sent, limit_tokens: limit }),
  })
})

it('a context that overflows keeps its status, type and numbers', () => {
  const error = { code: 400, message: 'too long', type: 'exceed_context_size_error', n_prompt_tokens: 2111, n_ctx: 256 }
  const answer = told(400, { error })
  expect([answer.status, answer.error['type']]).toEqual([400, 'exceed_context_size_error'])
  expect(answer.error['details']).toMatchObject({ engine: { n_prompt_tokens: 2111, n_ctx: 256 } })
})

it("understands Anthropic's shape", () => {
  const body = { type: 'error', error: { type: 'overloaded_error', message: 'm' }, request_id: 'x' }
  expect(told(529, body)).toMatchObject({ status: 529, error: { message: 'm', type: 'overloaded_error' } })
})

it.each([
  ['30', 30],
  ['0', 1],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  [undefined, undefined],
])('passes on when to ask again after a 5xx (%s)', (retryAfter, expected) => {
  const wrapped = wrapEngineError({ slot: 's', status: 503, retryAfter, body: '{"error":{"message":"busy"}}' })
  expect([wrapped.status, wrapped.retryAfterS]).toEqual([503, expected])
})

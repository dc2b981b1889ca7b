import { expect, it } from 'vitest'
import { Hal0Error } from '../kernel/errors.ts'
import { errorAnswer } from './error-answer.ts'

it('says code, remedy and request id; no Retry-After where nothing cures itself', () => {
  const answer = errorAnswer(Hal0Error.of('request.invalid', 'no', { param: 'model' }), 'r1')
  expect(answer.status).toBe(400)
  expect(answer.headers).toEqual({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-request-id': 'r1',
  })
  expect(JSON.parse(answer.body)).toMatchObject({
    error: { code: 'request.invalid', message: 'no', param: 'model', details: { request_id: 'r1' } },
  })
})

it.each([
  [0, '1'],
  [1, '1'],
  [1.2, '2'],
  [7, '7'],
])('Retry-After is a whole number of at least 1: %s', (retryAfterS, header) => {
  const answer = errorAnswer(Hal0Error.of('slot.loading', 'soon', { retryAfterS }), 'r1')
  expect(answer.headers['retry-after']).toBe(header)
})

it('takes another status and type', () => {
  const answer = errorAnswer(Hal0Error.of('request.invalid', 'no'), 'r1', { status: 405, type: 'odd' })
  expect(answer.status).toBe(405)
  expect(JSON.parse(answer.body)).toMatchObject({ error: { type: 'odd' } })
})

it("speaks Anthropic's dialect, whatever the engine called it", () => {
  const answer = errorAnswer(Hal0Error.of('request.invalid', 'no', { param: 'model' }), 'r1', {
    dialect: 'anthropic',
    status: 404,
    type: 'odd',
  })
  expect([answer.status, answer.headers['request-id'], answer.headers['x-request-id']]).toEqual([404, 'r1', 'r1'])
  expect(JSON.parse(answer.body)).toEqual({
    type: 'error',
    error: {
      type: 'not_found_error',
      message: 'no',
      code: 'request.invalid',
      param: 'model',
      details: {
        error_code: 'request.invalid',
        remedy: 'Correct the request as the message says.',
        request_id: 'r1',
      },
    },
    request_id: 'r1',
  })
})

it.each([
  [400, 'invalid_request_error'],
  [418, 'invalid_request_error'],
  [413, 'request_too_large'],
  [500, 'api_error'],
  [503, 'api_error'],
  [529, 'overloaded_error'],
  [504, 'timeout_error'],
])("Anthropic's word for status %i is %s", (status, type) => {
  const answer = errorAnswer(Hal0Error.of('request.invalid', 'no'), 'r1', { dialect: 'anthropic', status })
  expect(JSON.parse(answer.body)).toMatchObject({ error: { type } })
})

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

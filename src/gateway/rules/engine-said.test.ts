import { expect, it } from 'vitest'
import { readEngineSaid } from './engine-said.ts'

it.each([
  [
    "OpenAI's shape",
    '{"error":{"message":"m","type":"t","param":"p"}}',
    { message: 'm', type: 't', param: 'p', original: { message: 'm', type: 't', param: 'p' } },
  ],
  [
    "Anthropic's shape",
    '{"type":"error","error":{"type":"overloaded_error","message":"m"}}',
    { message: 'm', type: 'overloaded_error', original: { type: 'overloaded_error', message: 'm' } },
  ],
  ['an error that is a text', '{"error":"m"}', { message: 'm', original: { error: 'm' } }],
  ["FastAPI's shape", '{"detail":"m"}', { message: 'm', original: { detail: 'm' } }],
  ["FastAPI's list of mistakes", '{"detail":[{"loc":["body"]}]}', { original: { detail: [{ loc: ['body'] }] } }],
  ['a bare message', '{"message":"m","type":"t"}', { message: 'm', type: 't', original: { message: 'm', type: 't' } }],
  [
    'an empty message beside a detail',
    '{"message":"","detail":"d"}',
    { message: 'd', original: { message: '', detail: 'd' } },
  ],
  ['a message that is no text', '{"error":{"message":7}}', { original: { message: 7 } }],
  ['a text', 'm\n', { message: 'm', original: 'm' }],
  ['nothing', '  ', { original: '' }],
  ['a list', '[1]', { message: '[1]', original: '[1]' }],
  ['a body that is cut off', '{"error":{"mess', { message: '{"error":{"mess', original: '{"error":{"mess' }],
])('%s', (_name, body, expected) => {
  expect(readEngineSaid(body)).toStrictEqual(expected)
})

it.each([
  ['a message', JSON.stringify({ message: 'm'.repeat(2_001) }), 'm'.repeat(2_000)],
  ['a text', 't'.repeat(501), 't'.repeat(500)],
])('shortens %s', (_name, body, kept) => {
  expect(readEngineSaid(body).message).toBe(`${kept}…`)
})

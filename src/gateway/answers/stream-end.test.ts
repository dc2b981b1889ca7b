import { expect, it } from 'vitest'
import { endsStream } from './stream-end.ts'

it.each([
  ['[DONE]', 'data: [DONE]\n', true],
  ['[DONE] without a space, CRLF', 'data: {}\r\n\r\ndata:[DONE]\r\n', true],
  ['a reason', 'data: {"choices":[{"finish_reason":"stop"}]}\n', true],
  ['a reason with spaces', 'data: {"choices":[{"finish_reason" : "length"}]}\n', true],
  ['the second of two choices', 'data: {"choices":[{"finish_reason":null},{"finish_reason":"stop"}]}\n', true],
  ['no reason yet', 'data: {"choices":[{"finish_reason":null}]}\n', false],
  ['a text that speaks of it', 'data: {"content":"\\"finish_reason\\":\\"stop\\" [DONE]"}\n', false],
  ['a text that is [DONE]', 'data: {"content":"data: [DONE]"}\n', false],
  ['a comment', ': [DONE]\n', false],
  ['nothing', '', false],
])('%s: %s', (_name, text, expected) => expect(endsStream(Buffer.from(text))).toBe(expected))

import { expect, it } from 'vitest'
import { asciiBytes } from '../rules/json-bytes.ts'
import { endsStream, hasEventOfType } from './stream-end.ts'

it.each([
  ['[DONE]', 'data: [DONE]\n', true],
  ['[DONE] without a space, CRLF', 'data: {}\r\n\r\ndata:[DONE]\r\n', true],
  ['[DONE] and blank lines', 'data: [DONE]\n\n\n', true],
  ['[DONE] at the very end', 'data: [DONE]', true],
  ['a reason', 'data: {"choices":[{"finish_reason":"stop"}]}\n', true],
  ['a reason with spaces', 'data: {"choices":[{"finish_reason" : "length"}]}\n', true],
  ['a reason, cut in front', 'nish_reason":null},{"finish_reason":"stop"}]}\n', true],
  ['the second of two choices', 'data: {"choices":[{"finish_reason":null},{"finish_reason":"stop"}]}\n', true],
  ['no reason yet', 'data: {"choices":[{"finish_reason":null}]}\n', false],
  ['a text that speaks of it', 'data: {"content":"\\"finish_reason\\":\\"stop\\" [DONE]"}\n', false],
  ['a text that is [DONE]', 'data: {"content":"data: [DONE]"}\n', false],
  ['a text that is [DONE], cut in front of it', 'data: [DONE]"}\n', false],
  ['a comment', ': [DONE]\n', false],
  ['nothing', '', false],
])('openai, %s: %s', (_name, text, expected) => expect(endsStream(Buffer.from(text))).toBe(expected))

it.each([
  ['last', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
  ['with spaces, CRLF', 'data: { "type" : "message_stop" }\r\n\r\n', true],
  ['before another', 'data: {"type":"message_stop"}\n\nevent: ping\ndata: {"type": "ping"}\n\n', true],
  ['behind other keys, cut in front', 'xx"},"n":1,"type":"message_stop"}\n\n', true],
  ['a name without data', 'event: message_stop\n', false],
  ['half of it', 'data: {"type":"message_stop"', false],
  ['inside', 'data: {"type":"x","delta":{"type":"message_stop"}}\n\n', false],
  ['inside, cut in front', '"type":"message_stop"}}\n\n', false],
  ['in a text', 'data: {"type":"x","text":"\\"type\\":\\"message_stop\\"}"}\n\n', false],
  ['a longer name', 'data: {"type":"message_stopped"}\n\n', false],
  ['nothing', '', false],
])('by type, %s: %s', (_name, text, expected) => {
  expect(hasEventOfType(Buffer.from(text), [asciiBytes('"other"'), asciiBytes('"message_stop"')])).toBe(expected)
})

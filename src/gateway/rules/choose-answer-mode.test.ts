import { expect, it } from 'vitest'
import { chooseAnswerMode, WHOLE_LIMIT_BYTES } from './choose-answer-mode.ts'

const json = { 'content-type': 'application/json; charset=utf-8' }
const events = { 'content-type': 'text/event-stream' }

it.each([
  ['an event stream', 200, events, false, 'events'],
  ['an event stream of any 2xx', 201, events, true, 'events'],
  ['an encoded event stream', 200, { ...events, 'content-encoding': 'gzip' }, true, 'raw'],
  ['an encoding that is none', 200, { ...events, 'content-encoding': 'identity' }, true, 'events'],
  ['JSON of unknown length', 200, json, true, 'whole'],
  ['short JSON', 200, { ...json, 'content-length': String(WHOLE_LIMIT_BYTES) }, false, 'whole'],
  ['long JSON', 200, { ...json, 'content-length': String(WHOLE_LIMIT_BYTES + 1) }, false, 'json'],
  ['long JSON under the asked name', 200, { ...json, 'content-length': String(WHOLE_LIMIT_BYTES + 1) }, true, 'raw'],
  ['a page', 200, { 'content-type': 'text/html' }, true, 'unfit'],
  ['no type', 200, {}, true, 'unfit'],
  ['no body', 204, json, true, 'unfit'],
  ['an empty body', 200, { ...json, 'content-length': '0' }, true, 'unfit'],
  ['a redirect', 302, json, true, 'error'],
  ['an error', 400, json, true, 'error'],
  ['an error as events', 500, events, true, 'error'],
] as const)('%s', (_name, status, headers, aliasIsAsked, mode) => {
  const lines: Readonly<Record<string, string>> = headers
  const length = lines['content-length']
  const facts = {
    status,
    contentType: lines['content-type'],
    contentEncoding: lines['content-encoding'],
    lengthBytes: length === undefined ? undefined : Number(length),
    aliasIsAsked,
  }
  expect(chooseAnswerMode(facts)).toBe(mode)
})

import { expect, it } from 'vitest'
import { readUpstream, wantsWebSocket } from './read-upstream.ts'

it.each([
  ['GET', '/health', '/health', true],
  ['HEAD', '/metrics?x=%20&api_key=s', '/metrics?x=%20', true],
  ['GET', '/v1/models', '/v1/models', true],
  ['POST', '/props', '/props', false],
  ['POST', '/slots/0?action=save', '/slots/0?action=save', false],
  ['GET', '/slots/0', '/slots/0', false],
  ['POST', '/completion', '/completion', false],
  ['GET', '/', '/', false],
  ['GET', '/?', '/?', false],
  ['GET', '/a%2Fb/../c//?q=ä&&z', '/a%2Fb/../c//?q=ä&&z', false],
  ['GET', '/view?token=s', '/view', false],
])('%s %s', (method, rest, path, isLook) => expect(readUpstream(method, rest)).toEqual({ path, isLook }))

it.each([
  [undefined, false],
  ['h2c', false],
  ['websocket', true],
  ['h2c, WebSocket', true],
])('Upgrade: %s', (header, expected) => expect(wantsWebSocket(header)).toBe(expected))

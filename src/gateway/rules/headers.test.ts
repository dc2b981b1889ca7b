import { expect, it } from 'vitest'
import { clientResponseHeaders, engineRequestHeaders, validRequestId } from './headers.ts'

it('gives the engine its own key and nothing of the client that is not its business', () => {
  const sent = engineRequestHeaders(
    {
      host: 'gateway',
      connection: 'keep-alive, X-Private',
      'keep-alive': '5',
      'x-private': '1',
      te: 'trailers',
      'transfer-encoding': 'chunked',
      upgrade: 'h2c',
      'content-length': '5',
      authorization: 'Bearer client',
      'x-api-key': 'client',
      'api-key': 'client',
      cookie: 'c=1',
      'x-goog-api-key': 'client',
      x_api_key: 'client',
      'ocp-apim-apikey': 'client',
      'x-auth-token': 'client',
      'x-auth': 'client',
      'x-authorization': 'client',
      'x-amz-security-token': 'client',
      'client-secret': 'client',
      x_password: 'client',
      'proxy-authorization': 'Basic x',
      forwarded: 'for=1',
      'x-forwarded-for': '1',
      origin: 'http://a',
      referer: 'http://a/b',
      'accept-encoding': 'gzip',
      expect: '100-continue',
      'x-hal0-wait': '3',
      'x-request-id': 'theirs',
      'content-type': 'application/json; charset=utf-8',
      accept: '*/*',
      'x-stainless-os': 'Linux',
      'x-author': 'me',
    },
    { engineKey: 'secret', requestId: 'r1' },
  )
  expect(sent).toEqual({
    'content-type': 'application/json; charset=utf-8',
    accept: '*/*',
    'x-stainless-os': 'Linux',
    'x-author': 'me',
    authorization: 'Bearer secret',
    'x-request-id': 'r1',
  })
})

it('names the content type that engines insist on', () => {
  const sent = engineRequestHeaders({ 'content-type': 'text/plain' }, { engineKey: undefined, requestId: 'r' })
  expect(sent).toEqual({ 'content-type': 'application/json', 'x-request-id': 'r' })
})

it('passes an answer on without what belongs to the connection or to CORS', () => {
  const kept = clientResponseHeaders({
    connection: 'close, x-hop',
    'x-hop': '1',
    'keep-alive': 'timeout=5',
    'transfer-encoding': 'chunked',
    'content-length': '3',
    'access-control-allow-origin': '*',
    'x-broken': 'a\u0100',
    'content-type': 'application/json',
    'x-twice': ['1', '2'],
  })
  expect(kept).toEqual({ 'content-type': 'application/json', 'x-twice': ['1', '2'] })
})

it.each([
  ['abc-1.2', 'abc-1.2'],
  ['', undefined],
  ['a b', undefined],
  ['x'.repeat(129), undefined],
  [['a', 'b'], undefined],
  [undefined, undefined],
])('request id %s', (header, expected) => expect(validRequestId(header)).toBe(expected))

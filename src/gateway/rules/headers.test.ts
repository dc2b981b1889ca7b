import { expect, it } from 'vitest'
import { clientResponseHeaders, engineRequestHeaders, type HeaderLines, validRequestId } from './headers.ts'

/** As node gives a request's headers: in turn, in any spelling, repeated ones repeated. */
function lines(headers: Readonly<Record<string, string | readonly string[]>>): string[] {
  return Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]))
}

/** Repeated names as lists. */
function bag(flat: HeaderLines): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {}
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] ?? ''
    const value = flat[at + 1] ?? ''
    const before = found[name]
    found[name] = before === undefined ? value : [before, value].flat()
  }
  return found
}

it('gives the engine its own key and nothing of the client that is not its business', () => {
  const sent = engineRequestHeaders(
    lines({
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
    }),
    { engineKey: 'secret', requestId: 'r1', contentType: 'json' },
  )
  expect(bag(sent)).toEqual({
    'content-type': 'application/json; charset=utf-8',
    accept: '*/*',
    'x-stainless-os': 'Linux',
    'x-author': 'me',
    authorization: 'Bearer secret',
    'x-request-id': 'r1',
  })
})

it('names the content type that engines insist on', () => {
  const sent = engineRequestHeaders(lines({ 'content-type': 'text/plain' }), {
    engineKey: undefined,
    requestId: 'r',
    contentType: 'json',
  })
  expect(bag(sent)).toEqual({ 'content-type': 'application/json', 'x-request-id': 'r' })
})

it('passes an answer on without what belongs to the connection or to CORS', () => {
  const kept = clientResponseHeaders(
    lines({
      connection: 'close, x-hop',
      'x-hop': '1',
      'keep-alive': 'timeout=5',
      'transfer-encoding': 'chunked',
      'content-length': '3',
      'access-control-allow-origin': '*',
      'x-broken': 'a\u0100',
      'content-type': 'application/json',
      'x-twice': ['1', '2'],
    }),
  )
  expect(bag(kept)).toEqual({ 'content-type': 'application/json', 'x-twice': ['1', '2'] })
})

it.each([
  ['abc-1.2', 'abc-1.2'],
  ['', undefined],
  ['a b', undefined],
  ['x'.repeat(129), undefined],
  [['a', 'b'], undefined],
  [undefined, undefined],
])('request id %s', (header, expected) => expect(validRequestId(header)).toBe(expected))

it('knows names in any spelling, again and again', () => {
  const identity = { engineKey: undefined, requestId: 'r', contentType: 'as_sent' } as const
  for (let n = 0; n < 3; n++) {
    const sent = engineRequestHeaders(
      ['AUTHORIZATION', 'x', 'Accept', 'a', 'CONNECTION', 'Accept', 'X-A', '1'],
      identity,
    )
    expect(sent).toEqual(['X-A', '1', 'x-request-id', 'r'])
  }
})

it('a key of hal0 goes nowhere, in whatever header it came', () => {
  const key = `hal0_${'k'.repeat(43)}`
  const sent = engineRequestHeaders(
    lines({
      'x-trace': `a ${key}`,
      'user-agent': key,
      'accept-encoding': key,
      'content-type': `x/y; k=${key}`,
      accept: 'a',
    }),
    { engineKey: undefined, requestId: 'r', contentType: 'as_sent', isRaw: true },
  )
  expect(bag(sent)).toEqual({ accept: 'a', 'x-request-id': 'r' })
  expect(validRequestId(key)).toBeUndefined()
})

it('an engine sets its own cookies, and none of hal0', () => {
  const cookies = ['a=1', 'hal0_session=x; Path=/', ' HAL0_other=1', '__Host-hal0_session=x', 'b=hal0_session']
  expect(bag(clientResponseHeaders(lines({ 'set-cookie': cookies })))).toEqual({
    'set-cookie': ['a=1', 'b=hal0_session'],
  })
})

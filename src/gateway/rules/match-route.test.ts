import { describe, expect, it } from 'vitest'
import { KNOWN_PATHS, matchRoute, pathOf, queryWithoutKey, slotTypeFor, waitLimitMs } from './match-route.ts'

describe('matchRoute', () => {
  it.each([
    ['GET', '/v1/models', { kind: 'models' }],
    ['HEAD', '/v1/models/?x=1', { kind: 'models' }],
    ['GET', '/v1/models/hal0/agent', { kind: 'model', id: 'hal0/agent' }],
    ['GET', '/v1/models/a%2Fb', { kind: 'model', id: 'a/b' }],
    ['GET', '/v1/models/%zz', { kind: 'bad_path' }],
    ['POST', '/v1/models', { kind: 'wrong_method', allow: 'GET, HEAD, OPTIONS' }],
    ['GET', '/v1/chat/completions', { kind: 'wrong_method', allow: 'POST, OPTIONS' }],
    ['POST', '/v1/images/generations/?key=x', { kind: 'images' }],
    ['GET', '/v1/images/generations', { kind: 'wrong_method', allow: 'POST, OPTIONS' }],
    ['POST', '/v1/chat', { kind: 'unknown' }],
    ['POST', '/chat/completions', { kind: 'unknown' }],
    ['POST', '/v1/constructor', { kind: 'unknown' }],
    ['DELETE', '/v1/tokenize', { kind: 'wrong_method', allow: 'POST, OPTIONS' }],
    ['GET', '/upstream/agent/props', { kind: 'upstream', slot: 'agent', rest: '/props' }],
    ['DELETE', '/upstream/agent/a/../b//c/', { kind: 'upstream', slot: 'agent', rest: '/a/../b//c/' }],
    ['POST', '/upstream/agent/x%2Fy?a=%20&b=/', { kind: 'upstream', slot: 'agent', rest: '/x%2Fy?a=%20&b=/' }],
    ['GET', '/upstream/agent', { kind: 'upstream', slot: 'agent', rest: '/' }],
    ['GET', '/upstream/agent/', { kind: 'upstream', slot: 'agent', rest: '/' }],
    ['GET', '/upstream/agent?x=/y', { kind: 'upstream', slot: 'agent', rest: '/?x=/y' }],
    ['GET', '/upstream/a%67ent/', { kind: 'upstream', slot: 'agent', rest: '/' }],
    ['GET', '/upstream/gpt%2F4/v1/models', { kind: 'upstream', slot: 'gpt/4', rest: '/v1/models' }],
    ['GET', '/upstream/%zz/props', { kind: 'bad_path' }],
    ['GET', '/upstream/agent/%zz', { kind: 'upstream', slot: 'agent', rest: '/%zz' }],
    ['GET', '/upstream', { kind: 'unknown' }],
    ['GET', '/upstream/', { kind: 'unknown' }],
    ['GET', '/upstream//props', { kind: 'unknown' }],
    ['GET', '/upstreams/agent/props', { kind: 'unknown' }],
    ['OPTIONS', '/upstream/agent/props', { kind: 'preflight' }],
    ['OPTIONS', '/v1/anything', { kind: 'preflight' }],
  ])('%s %s', (method, target, expected) => expect(matchRoute(method, target)).toEqual(expected))

  it.each([
    ['/v1/chat/completions', '/v1/chat/completions'],
    ['/v1/completions', '/v1/completions'],
    ['/v1/responses', '/v1/responses'],
    ['/v1/embeddings', '/v1/embeddings'],
    ['/v1/rerank', '/v1/rerank'],
    ['/v1/rerankings', '/v1/rerank'],
    ['/v1/messages', '/v1/messages'],
    ['/v1/messages/count_tokens', '/v1/messages/count_tokens'],
    ['/v1/audio/speech', '/v1/audio/speech'],
    ['/v1/audio/transcriptions', '/v1/audio/transcriptions'],
    ['/v1/tokenize', '/tokenize'],
  ])('POST %s is known to engines as %s', (path, enginePath) => {
    for (const target of [path, `${path}/`, `${path}?api_key=x`, `${path}/?a`]) {
      expect(matchRoute('POST', target)).toMatchObject({ kind: 'inference', route: { path, enginePath } })
    }
    expect(KNOWN_PATHS).toContain(path)
    expect(matchRoute('GET', path)).toEqual({ kind: 'wrong_method', allow: 'POST, OPTIONS' })
  })
})

it.each([
  ['/', '/'],
  ['/v1/models/', '/v1/models'],
  ['/v1/models/?a=/', '/v1/models'],
  ['?x', ''],
])('the path of %s is %s', (target, path) => expect(pathOf(target)).toBe(path))

describe('queryWithoutKey', () => {
  it.each([
    ['/v1/x', ''],
    ['/v1/x?', '?'],
    ['/v1/x?&&a=%zz&', '?&&a=%zz&'],
    ['/v1/x?a=1&&api_key=s', '?a=1&'],
    ['/v1/x?api_key=s', ''],
    ['/v1/x?a=1&api_key=s&b=%20', '?a=1&b=%20'],
    ['/v1/x?API%5FKEY=s&a', '?a'],
    ['/v1/x?a=1&b=hal0%5f1234567890123456789012&c=hal0%5Fshort', '?a=1&c=hal0%5Fshort'],
    ['/v1/x?x%2Dapi_key=s&max_tokens=1', '?max_tokens=1'],
    ['/v1/x?key=s&access_token=s&Token=s&api-key=s&apikey=s&keys=1', '?keys=1'],
  ])('%s', (target, expected) => expect(queryWithoutKey(target)).toBe(expected))
})

describe('waitLimitMs', () => {
  it.each([
    [undefined, 60_000],
    ['0', 0],
    ['1.5', 1500],
    ['600', 60_000],
    ['-1', undefined],
    ['soon', undefined],
    ['', undefined],
  ])('%s', (header, expected) => expect(waitLimitMs(header, 60)).toBe(expected))
})

it.each([
  ['/v1/chat/completions', 'llm'],
  ['/v1/embeddings', 'embedding'],
  ['/v1/rerank', 'reranking'],
  ['/v1/rerankings', 'reranking'],
  ['/v1/audio/speech', 'tts'],
  ['/v1/audio/transcriptions', 'transcription'],
  ['/v1/images/generations', 'image'],
  ['/v1/whatever', 'llm'],
])('%s needs a slot of type %s', (path, type) => expect(slotTypeFor(path)).toBe(type))

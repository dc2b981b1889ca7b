import { describe, expect, it } from 'vitest'
import { matchRoute, queryWithoutKey, slotTypeFor, waitLimitMs } from './match-route.ts'

describe('matchRoute', () => {
  it.each([
    ['GET', '/v1/models', { kind: 'models' }],
    ['HEAD', '/v1/models/?x=1', { kind: 'models' }],
    ['GET', '/v1/models/hal0/agent', { kind: 'model', id: 'hal0/agent' }],
    ['GET', '/v1/models/a%2Fb', { kind: 'model', id: 'a/b' }],
    ['GET', '/v1/models/%zz', { kind: 'bad_path' }],
    ['POST', '/v1/models', { kind: 'wrong_method', allow: 'GET, HEAD, OPTIONS' }],
    ['POST', '/v1/chat/completions?api_key=x', { kind: 'inference', path: '/v1/chat/completions' }],
    ['POST', '/v1/completions/', { kind: 'inference', path: '/v1/completions' }],
    ['GET', '/v1/chat/completions', { kind: 'wrong_method', allow: 'POST, OPTIONS' }],
    ['POST', '/v1/images/generations/?key=x', { kind: 'images' }],
    ['GET', '/v1/images/generations', { kind: 'wrong_method', allow: 'POST, OPTIONS' }],
    ['POST', '/v1/embeddings', { kind: 'unsupported' }],
    ['POST', '/v1/chat', { kind: 'unknown' }],
    ['GET', '/upstream/agent/props', { kind: 'unsupported' }],
    ['GET', '/upstream', { kind: 'unknown' }],
    ['OPTIONS', '/v1/anything', { kind: 'preflight' }],
  ])('%s %s', (method, target, expected) => expect(matchRoute(method, target)).toEqual(expected))
})

describe('queryWithoutKey', () => {
  it.each([
    ['/v1/x', ''],
    ['/v1/x?', ''],
    ['/v1/x?api_key=s', ''],
    ['/v1/x?a=1&api_key=s&b=%20', '?a=1&b=%20'],
    ['/v1/x?API%5FKEY=s&a', '?a'],
    ['/v1/x?my_api_key=1', '?my_api_key=1'],
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

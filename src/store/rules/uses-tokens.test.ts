import { expect, it } from 'vitest'
import { usesTokens } from './uses-tokens.ts'

it.each([
  ['POST', '/v1/chat/completions', '/v1/chat/completions', true],
  ['POST', '/v1/messages', '/v1/messages', true],
  ['POST', '/v1/embeddings', '/v1/embeddings', true],
  ['POST', '/v1/rerankings', '/v1/rerankings', true],
  // They counted as unknown, and nobody could have known.
  ['POST', '/v1/messages/count_tokens', '/v1/messages/count_tokens', false],
  ['POST', '/v1/tokenize', '/v1/tokenize', false],
  ['POST', '/v1/audio/speech', '/v1/audio/speech', false],
  ['POST', '/v1/audio/transcriptions', '/v1/audio/transcriptions', false],
  ['POST', '/v1/images/generations', '/v1/images/generations', false],
  ['GET', '/v1/models', '/v1/models', false],
  ['GET', 'other', '/v1/nothing', false],
  ['GET', '/upstream', '/upstream/agent/props', false],
  ['GET', '/upstream', '/upstream/agent', false],
  ['POST', '/upstream', '/upstream/agent/tokenize', false],
  ['POST', '/upstream', '/upstream/agent/completion', true],
  ['POST', '/upstream', '/upstream/agent/v1/chat/completions', true],
  ['OPTIONS', '/upstream', '/upstream/agent/v1/chat/completions', false],
])('%s %s (%s): %s', (method, route, path, expected) => expect(usesTokens({ method, route, path })).toBe(expected))

import { expect, it } from 'vitest'
import { isCredentialHeader, isCredentialParameter } from './credential-names.ts'

const BOTH = [
  'api-key',
  'x_api_key',
  'apikey',
  'openai_api_key',
  'authorization',
  'authorisation',
  'authentication',
  'x-auth',
  'auth_token',
  'client_secret',
  'password',
  'x-passphrase',
  'credential',
  'jwt',
  'bearer',
  'pwd',
  'ocp-apim-subscription-key',
  'access_key',
  'key',
  'x-key',
  'token',
]

it.each([...BOTH, 'cookie', 'x-csrf-token', 'x-litellm-key', 'x-functions-key'])(
  'header %s is a credential',
  (name) => {
    expect(isCredentialHeader(name)).toBe(true)
  },
)

it.each(['accept', 'x-author', 'idempotency-key', 'x-idempotency-key', 'x-cache-key', 'x-session-id', 'keyboard'])(
  'header %s is none',
  (name) => expect(isCredentialHeader(name)).toBe(false),
)

it.each([
  ...BOTH,
  'API_KEY',
  'apiKey',
  'accessToken',
  'id_token',
  'session_token',
  'api_key[]',
  'key[0]',
  'api.key',
  ' key',
])('parameter %s is a credential', (name) => expect(isCredentialParameter(name)).toBe(true))

it.each(['max_tokens', 'token_ids', 'tokens', 'prompt_cache_key', 'keys', 'author', 'n_keep', 'id', '[key]', ''])(
  'parameter %s is none',
  (name) => expect(isCredentialParameter(name)).toBe(false),
)

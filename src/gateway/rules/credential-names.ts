/** Says "secret" whatever stands around it; `_`, `.` and blanks are read as `-`. */
const ALWAYS = [
  'api-?key',
  'secret',
  'passw(?:or)?d',
  'passphrase',
  'authori[sz]ation',
  'authentication',
  'credential',
  '(?:^|-)(?:auth|jwt|bearer|pwd)(?:-|$)',
  '(?:subscription|access|private|master)-?key',
]
/** A header that speaks of a token or cookie is a login's; so is `X-<vendor>-Key`, where it is no key of a cache or of a retry. */
const HEADER = new RegExp(
  [...ALWAYS, 'token', 'cookie', '^(?:x-)?key$', '^x-(?!cache-|idempotency-)[a-z0-9]+-key$'].join('|'),
)
/** In a query engines have words of their own: `max_tokens`, `prompt_cache_key`. */
const PARAMETER = new RegExp(
  [...ALWAYS, '^(?:x-)?(?:key|token)$', '(?:access|auth|bearer|id|refresh|session|security)-?token'].join('|'),
)

/** Does a header of this name, in lower case, carry what proves who the client is? Source: SPEC 11, 14. */
export function isCredentialHeader(name: string): boolean {
  return HEADER.test(plain(name))
}

/** The same for a parameter of a query, percent escapes resolved. Source: SPEC 11, CASES 9. */
export function isCredentialParameter(name: string): boolean {
  // `key[]` and `key[0]` are lists of it.
  return PARAMETER.test(plain(name.toLowerCase().replace(/(?:\[[^\]]*\])+$/, '')))
}

/** Shorter than any key of hal0's, longer than what anybody writes after `hal0_` otherwise. */
const KEY = /hal0_[\w-]{20}/

/** Is there one of hal0's own keys in this text, wherever a client has put it? Source: SPEC 14, CASES 9. */
export function holdsKey(text: string): boolean {
  return text.includes('hal0_') && KEY.test(text)
}

function plain(name: string): string {
  return name.trim().replaceAll(/[_.\s+]/g, '-')
}

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

function plain(name: string): string {
  return name.trim().replaceAll(/[_.\s+]/g, '-')
}

/** The session's cookie. Source: SPEC 14. */
export const SESSION_COOKIE = 'hal0_session'

/** What a request shows to come in. Its query is not looked at: addresses end up in logs. */
export interface SentCredentials {
  /** The key that was sent, by one header or both; undefined = none. */
  readonly key: string | undefined
  /** The values of all cookies of the session's name, in order. */
  readonly sessions: readonly string[]
  /** What cannot be understood; then nothing of it counts. Never holds what was sent. */
  readonly problem: { readonly header: 'authorization' | 'x-api-key'; readonly text: string } | undefined
}

/** Other schemes are not hal0's: a proxy in front may need one for itself. */
const SCHEME = /^bearer(?: +|$)/i

/** Reads header lines as in `rawHeaders`: name, value, name, value … Source: SPEC 14 "as Bearer or x-api-key". */
export function readCredentials(rawHeaders: readonly string[]): SentCredentials {
  let key: string | undefined
  let keyHeader = ''
  const sessions: string[] = []
  let empty: SentCredentials['problem']
  let differing: SentCredentials['problem']
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = headerOf(rawHeaders[at] ?? '')
    if (name === undefined) continue
    const value = rawHeaders[at + 1] ?? ''
    if (name === 'cookie') {
      sessions.push(...sessionsIn(value))
      continue
    }
    const sent = name === 'authorization' ? bearerOf(value) : value.trim()
    if (sent === undefined) continue
    if (sent === '') empty = { header: name, text: `The header ${name} holds no key` }
    else if (key !== undefined && key !== sent) {
      const where = keyHeader === name ? `${name} is there twice` : `one as ${keyHeader}, one as ${name}`
      differing = { header: name, text: `The request carries two keys that differ: ${where}; send one` }
    } else {
      key = sent
      keyHeader = name
    }
  }
  // An empty header beside a key is what SDKs send that were given one of the two only.
  return { key, sessions, problem: differing ?? (key === undefined ? empty : undefined) }
}

/** By length first: nearly all headers of a request are others. */
function headerOf(spelling: string): 'authorization' | 'x-api-key' | 'cookie' | undefined {
  if (spelling.length === 13) return spelling.toLowerCase() === 'authorization' ? 'authorization' : undefined
  if (spelling.length === 9) return spelling.toLowerCase() === 'x-api-key' ? 'x-api-key' : undefined
  if (spelling.length === 6) return spelling.toLowerCase() === 'cookie' ? 'cookie' : undefined
  return undefined
}

function bearerOf(value: string): string | undefined {
  const scheme = SCHEME.exec(value)?.[0]
  return scheme === undefined ? undefined : value.slice(scheme.length).trim()
}

function sessionsIn(cookies: string): string[] {
  return cookies.split(';').flatMap((pair) => {
    const [name = '', ...value] = pair.split('=')
    return name.trim() === SESSION_COOKIE && value.length > 0 ? [value.join('=').trim()] : []
  })
}

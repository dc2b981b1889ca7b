/** The longest sample of an engine's words that is shown. Source: SPEC 5. */
export const SANITY_SAMPLE_CHARS = 120

/** So often in a row is no way of speaking. */
const MIN_REPEATS = 4

/** An answer that begins with so much garbage is none. */
const HOPELESS_CHARS = 100

/** A token is hardly ever longer. */
const MAX_TOKEN_CHARS = 24

/**
 * No model says so many characters that mean nothing. Fewer than this many may be the rest of one that was cut; they count where there is
 * hardly anything else.
 */
const MAX_BROKEN_SHARE = 1 / 8
const MIN_BROKEN = 4

/** Paris as languages with Latin letters spell it, lower case, marks taken off; "comparison" is not one of them. */
const IN_LATIN = /(?<!com)paris|pariis|pariz|paryz|parigi|parijs/u

/** The same in other scripts, lower case. */
const IN_OTHER_SCRIPTS = [
  '巴黎',
  '巴里',
  'パリ',
  '파리',
  'париж',
  'париз',
  'парыж',
  'παρίσι',
  'باريس',
  'پاریس',
  'پیرس',
  'פריז',
  'पेरिस',
  'পারিস',
  'প্যারিস',
  'பாரிஸ்',
  'ปารีส',
  'պարիզ',
  'პარიზ',
].map((name) => name.normalize('NFKC'))

/** `why`: one clause about the text. */
export type SanityJudgement = { readonly isSane: true } | { readonly isSane: false; readonly why: string }

/**
 * Is this what a working engine says about the capital of France?
 * 1. It names Paris, in any case, width or script: yes.
 * 2. strict: no.
 * 3. lenient: no when it is blank, full of control or replacement characters, or one token over and over; else yes.
 * Source: SPEC 5 "output-sanity gate".
 */
export function judgeSanity(text: string, mode: 'strict' | 'lenient'): SanityJudgement {
  if (namesParis(text)) return { isSane: true }
  const why = findGarbage(text)
  if (why !== undefined) return { isSane: false, why }
  return mode === 'lenient' ? { isSane: true } : { isSane: false, why: 'it does not name Paris' }
}

/** Does the text name Paris? More text never makes it no. */
export function namesParis(text: string): boolean {
  const plain = text.normalize('NFKC').toLowerCase()
  if (IN_OTHER_SCRIPTS.some((name) => plain.includes(name))) return true
  return IN_LATIN.test(plain.normalize('NFD').replaceAll(/\p{M}/gu, ''))
}

/** Is it clear by now that this becomes no answer? Then a slow engine need not be heard out. */
export function isHopeless(text: string): boolean {
  return text.length >= HOPELESS_CHARS && findGarbage(text.slice(0, HOPELESS_CHARS)) !== undefined
}

/** Shows what an engine said: at most 120 UTF-16 units, on one line, with everything that cannot be printed as an escape. */
export function showSample(text: string): string {
  let shown = ''
  for (const character of text) {
    const piece = /[\p{C}\p{Zl}\p{Zp}\uFFFD]/u.test(character) ? escapeOf(character) : character
    if (shown.length + piece.length > SANITY_SAMPLE_CHARS) return cutForDots(shown)
    shown += piece
  }
  return shown
}

/** The last pieces make room for the dots; what is cut in its middle is taken out whole. */
function cutForDots(shown: string): string {
  if (shown.length < SANITY_SAMPLE_CHARS) return `${shown}…`
  return `${shown.replace(/(?:\\u\{[0-9a-f]+\}|\\[nrt]|[^])$/u, '')}…`
}

function escapeOf(character: string): string {
  switch (character) {
    case '\n':
      return '\\n'
    case '\r':
      return '\\r'
    case '\t':
      return '\\t'
    default:
      return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  }
}

function findGarbage(text: string): string | undefined {
  const solid = Array.from(text.replaceAll(/\s/gu, ''))
  // Marks that show nothing (zero width, byte order) are not words either.
  const seen = solid.filter((character) => !/\p{Cf}/u.test(character))
  if (seen.length === 0) return 'it said nothing'
  const broken = seen.filter((character) => /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\uFFFD]/u.test(character)).length
  if (broken >= (broken < MIN_BROKEN ? seen.length / 2 : seen.length * MAX_BROKEN_SHARE)) {
    return 'it is full of control or replacement characters'
  }
  const [, ...rest] = text.trim().split(/\s+/u)
  if (isRepetition(seen) || isRepetition(Array.from(rest.join('')))) return 'it is one token over and over'
  return undefined
}

/** Is it a short piece again and again? The end may have been cut in the middle of one. */
function isRepetition(characters: readonly string[]): boolean {
  const longest = Math.min(MAX_TOKEN_CHARS, Math.floor(characters.length / MIN_REPEATS))
  for (let period = 1; period <= longest; period++) {
    if (characters.every((character, at) => at < period || character === characters[at - period])) return true
  }
  return false
}

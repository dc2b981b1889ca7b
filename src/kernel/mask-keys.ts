/** As many characters of a key as people are shown: `hal0_` and seven more. */
const SHOWN_CHARS = 12
/** Twenty characters: shorter than any key of hal0's, longer than what anybody writes after `hal0_` otherwise. The escape is for addresses. */
const KEY = /hal0(?:_|%5f)[\w-]{20}/i
/** All of it, with the sign that a text was cut within it. */
const WHOLE_KEYS = new RegExp(`${KEY.source}[\\w-]*…?`, 'gi')

/** Is there one of hal0's own keys or tokens in this text, wherever somebody has put it? Source: SPEC 14, CASES 9. */
export function holdsKey(text: string): boolean {
  return text.includes('hal0') && KEY.test(text)
}

/**
 * The text with every key and token of hal0's cut to the characters that are shown: what was put into an address, a name or a `model` by mistake
 * reaches no log and no error. Source: SPEC 14.
 */
export function maskKeys(text: string): string {
  return text.replaceAll(WHOLE_KEYS, (key) => `${key.slice(0, SHOWN_CHARS)}…`)
}

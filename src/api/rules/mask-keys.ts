/** As many characters of a key as people are shown: `hal0_` and seven more. */
const SHOWN_CHARS = 12

/** A text with every API key in it cut to the characters that are shown: a key that was put into an address must not reach logs or errors. Source: SPEC 14. */
export function maskKeys(text: string): string {
  return text.replaceAll(/hal0(?:_|%5f)[\w%-]{8,}/gi, (key) => `${key.slice(0, SHOWN_CHARS)}…`)
}

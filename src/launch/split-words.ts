import { err, ok, type Result } from '../kernel/result.ts'

/** What a backslash still escapes between double quotes. */
const ESCAPED_IN_DOUBLE = '$`"\\'
const BLANK = /[ \t\r\n]/

/**
 * The words of a text as POSIX sh splits them, without expansion: `$x`, `~`, `*`, `;` and `#` are ordinary characters. `''` is an empty word; a
 * backslash before a newline joins two lines. The error is one clause that names the place (line and column, from 1). Source: SPEC 9.
 */
export function splitWords(text: string): Result<readonly string[], string> {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (BLANK.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1)
      if (end === -1) return err(`the quote ' at ${placeOf(text, at)} is not closed`)
      word = (word ?? '') + text.slice(at + 1, end)
      at = end
    } else if (char === '"') {
      const quoted = readDoubleQuoted(text, at + 1)
      if (quoted === undefined) return err(`the quote " at ${placeOf(text, at)} is not closed`)
      word = (word ?? '') + quoted.value
      at = quoted.end
    } else if (char === '\\') {
      if (at + 1 === text.length) return err(`the backslash at ${placeOf(text, at)} has nothing to escape`)
      at++
      if (text.charAt(at) !== '\n') word = (word ?? '') + text.charAt(at)
    } else {
      word = (word ?? '') + char
    }
  }
  if (word !== undefined) words.push(word)
  return ok(words)
}

/** What stands between double quotes; `end` is the place of the closing one. Undefined = there is none. */
function readDoubleQuoted(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  let value = ''
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '"') return { value, end: at }
    const next = text.charAt(at + 1)
    if (char === '\\' && next === '\n') {
      at++
    } else if (char === '\\' && next !== '' && ESCAPED_IN_DOUBLE.includes(next)) {
      value += next
      at++
    } else {
      value += char
    }
  }
  return undefined
}

function placeOf(text: string, at: number): string {
  const before = text.slice(0, at).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

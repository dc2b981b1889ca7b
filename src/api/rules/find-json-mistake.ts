/** Where a text stops being JSON, counted as editors do: lines and columns from 1. */
export interface JsonMistake {
  readonly line: number
  readonly column: number
  /** What stands there. */
  readonly found: string
}

const SPACE = /[ \t\n\r]*/y
// Control characters may not stand in a string as they are; \p{Cc} has a few more that may.
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * Where is the first mistake of a text that is no JSON? Undefined = it is JSON. The engine's own message names the place only for some
 * mistakes.
 */
export function findJsonMistake(text: string): JsonMistake | undefined {
  const at = mistakeAt(text)
  if (at === undefined) return undefined
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const found =
    at >= text.length ? 'the end of the text' : JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))
  return { line, column: at - (before.lastIndexOf('\n') + 1) + 1, found }
}

/** What may stand next inside the innermost open bracket. */
type Expect = 'value' | 'first value' | 'key' | 'first key' | 'separator'

function mistakeAt(text: string): number | undefined {
  const open: ('{' | '[')[] = []
  let expect: Expect = 'value'
  let at = 0
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) return false
    at += match[0].length
    return true
  }
  while (true) {
    take(SPACE)
    const character = text[at]
    if (expect === 'separator') {
      const inside = open.at(-1)
      if (inside === undefined) return character === undefined ? undefined : at
      if (character === ',') expect = inside === '{' ? 'key' : 'value'
      else if (character === (inside === '{' ? '}' : ']')) open.pop()
      else return at
      at++
    } else if ((expect === 'first value' && character === ']') || (expect === 'first key' && character === '}')) {
      open.pop()
      expect = 'separator'
      at++
    } else if (expect === 'key' || expect === 'first key') {
      if (!take(STRING)) return at
      take(SPACE)
      if (text[at] !== ':') return at
      at++
      expect = 'value'
    } else if (character === '{' || character === '[') {
      open.push(character)
      expect = character === '{' ? 'first key' : 'first value'
      at++
    } else if (take(STRING) || take(SCALAR)) expect = 'separator'
    else return at
  }
}

const OPENING = '<[{('
const CLOSING = '>]})'

/** Words of a placeholder; a space between brackets belongs to the word (`<tensor name pattern>=<buffer type>`). */
function wordsOf(placeholder: string): readonly string[] {
  const words: string[] = []
  let word = ''
  let depth = 0
  for (const character of placeholder) {
    if (OPENING.includes(character)) depth++
    if (CLOSING.includes(character)) depth = Math.max(0, depth - 1)
    if (character === ' ' && depth === 0) {
      if (word !== '') words.push(word)
      word = ''
    } else word += character
  }
  return word === '' ? words : [...words, word]
}

const METAVARIABLE = /^[A-Z][A-Z0-9_]*$/

/**
 * How many values does a placeholder stand for? `''` = 0, `START END` = 2; `A [A ...]`, which takes one or more, and everything
 * else that is not a row of names in capitals = 1.
 */
export function countValues(placeholder: string): number {
  const words = wordsOf(placeholder)
  return words.length > 1 && words.every((word) => METAVARIABLE.test(word)) ? words.length : Math.min(1, words.length)
}

/** What stands between brackets of one kind, and nothing around them. */
const BRACKETED = /^(?:\{([^{}]*)\}|<([^<>]*)>|\[([^[\]]*)\])$/
const CHOICE = /^[\w.+-]+$/
const LOWER_LIST = /^[a-z0-9][a-z0-9._+-]*(?:,[a-z0-9][a-z0-9._+-]*)+$/

/**
 * The values that a placeholder lists: `{none,linear}`, `<0|1>`, `[on|off|auto]`, `none,draft-mtp`. Empty = it lists none, or
 * not all of them (`<dev1,dev2,..>`, `N0,N1,...`, `{a,b} or a name`).
 */
export function choicesOf(placeholder: string): readonly string[] {
  if (placeholder.includes('..')) return []
  const inside = BRACKETED.exec(placeholder)
  const list = inside?.[1] ?? inside?.[2] ?? inside?.[3] ?? (LOWER_LIST.test(placeholder) ? placeholder : '')
  const choices = list.split(/[|,]/).map((choice) => choice.trim())
  return choices.length > 1 && choices.every((choice) => CHOICE.test(choice)) ? choices : []
}

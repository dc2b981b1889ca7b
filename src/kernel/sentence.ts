/** A text as a sentence of its own: begins in upper case where its first word is a plain one, and ends with a full stop or what does as well. */
export function sentence(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  // The name of a program or a file keeps its letters.
  const isWord = /^[a-z]+(?=[\s,;:.!?…]|$)/.test(trimmed)
  const begun = isWord ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed
  return /[.!?…]["'`)”’]?$/.test(begun) ? begun : `${begun}.`
}

/** `1 minute`, `2 minutes`, `1.5 minutes`. `noun`: in the singular; its plural ends in s. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

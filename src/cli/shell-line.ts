/** Words as one line that a POSIX shell reads back as these words. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ')
}

/** As one word of a POSIX shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

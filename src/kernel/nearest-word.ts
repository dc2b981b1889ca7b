/** Edits that still count as a slip of the hand; more is another word. */
const MAX_EDITS = 3

/** Which of the known words (keys, names, flags) was probably meant? Dashes before a flag do not count as letters. Undefined = none is close. */
export function selectNearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly edits: number } | undefined
  for (const candidate of known) {
    const edits = countEdits(word.toLowerCase(), candidate.toLowerCase())
    if (
      edits <= Math.min(MAX_EDITS, Math.floor(candidate.replace(/^-+/, '').length / 2)) &&
      (best === undefined || edits < best.edits)
    ) {
      best = { word: candidate, edits }
    }
  }
  return best?.word
}

/** Edits between two words: letters put in, left out, replaced, or two neighbours that changed places. One row at a time. */
function countEdits(from: string, to: string): number {
  let before: readonly number[] = []
  let previous: readonly number[] = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const isTurned = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const turned = isTurned ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      row.push(Math.min(replaced, turned, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    before = previous
    previous = row
  }
  return previous[to.length] ?? 0
}

/** Edits that still count as a slip of the hand; more is another word. */
const MAX_EDITS = 3

/** Which known key was probably meant? Undefined when none is close. */
export function selectNearestKey(key: string, known: readonly string[]): string | undefined {
  let best: { key: string; edits: number } | undefined
  for (const candidate of known) {
    const edits = countEdits(key.toLowerCase(), candidate.toLowerCase())
    if (edits <= Math.min(MAX_EDITS, Math.floor(candidate.length / 2)) && (best === undefined || edits < best.edits)) {
      best = { key: candidate, edits }
    }
  }
  return best?.key
}

/** Levenshtein distance, one row at a time. */
function countEdits(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const swap = (previous[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      row.push(Math.min(swap, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    previous = row
  }
  return previous[to.length] ?? 0
}

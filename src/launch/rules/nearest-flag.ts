/** Edits that still count as a slip of the hand; more is another word. */
const MAX_EDITS = 3

/** Which of the known flags was probably meant? Undefined = none is near. */
export function selectNearestFlag(flag: string, known: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly edits: number } | undefined
  for (const name of known) {
    const edits = countEdits(flag, name)
    const limit = Math.min(MAX_EDITS, Math.floor(name.replace(/^-+/, '').length / 2))
    if (edits <= limit && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { name, edits }
  }
  return best?.name
}

/** Levenshtein's distance, a row at a time. */
function countEdits(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 0; row < from.length; row++) {
    const line = [row + 1]
    for (let column = 0; column < to.length; column++) {
      const kept = (above[column] ?? 0) + (from.charAt(row) === to.charAt(column) ? 0 : 1)
      line.push(Math.min(kept, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1))
    }
    above = line
  }
  return above[to.length] ?? from.length
}

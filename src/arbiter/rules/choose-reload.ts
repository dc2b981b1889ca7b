import type { SlotRow } from '../../contract/slot-row.ts'

/** What of a row says how much it is missed. */
export type ReloadRow = Pick<SlotRow, 'name' | 'priority' | 'last_used_at'>

/**
 * Which of the saved slots is loaded next? Those that requests are for first, then by priority, then those used last; names settle the rest.
 * A slot that is no more comes last. Undefined = none is saved. Source: SPEC 8 "reload the saved set".
 */
export function chooseReload(
  saved: readonly string[],
  wanted: ReadonlySet<string>,
  rows: readonly ReloadRow[],
): string | undefined {
  const byName = new Map(rows.map((row) => [row.name, row]))
  const rank = (name: string) => {
    const row = byName.get(name)
    return [row === undefined ? 1 : 0, wanted.has(name) ? 0 : 1, -(row?.priority ?? 0)] as const
  }
  // ISO 8601 in UTC: the later time is the greater text.
  const usedAt = (name: string) => byName.get(name)?.last_used_at ?? ''
  return saved.toSorted((a, b) => compare(rank(a), rank(b)) || inOrder(usedAt(b), usedAt(a)) || inOrder(a, b))[0]
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [at, left] of a.entries()) {
    const right = b[at] ?? 0
    if (left !== right) return left - right
  }
  return 0
}

function inOrder(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

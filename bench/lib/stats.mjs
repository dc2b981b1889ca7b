// Medians and percentiles.

/** Nearest rank; NaN when there is nothing. @param {readonly number[]} values @param {number} p 0…100 */
export function percentile(values, p) {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).toSorted()
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil((p / 100) * sorted.length) - 1))
  return sorted[rank]
}

/** @param {readonly number[]} values */
export const median = (values) => percentile(values, 50)

/** Median of each number over the rounds. @param {readonly Record<string, number>[]} rounds @returns {Record<string, number>} */
export function medians(rounds) {
  const [first] = rounds
  return Object.fromEntries(Object.keys(first ?? {}).map((key) => [key, median(rounds.map((round) => round[key]))]))
}

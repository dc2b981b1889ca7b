// From the rounds of a line to the rows of the table: medians, what hal0 is compared with, and whether a gate was missed.
import { medians } from './stats.mjs'
import { ROWS } from './targets.mjs'

/** @typedef {{ text: string, ratio: number | null, isMet: boolean }} Verdict `ratio` of hal0 to what it is compared with; null for an amount. */

/**
 * `value` of each side that has the number, in the row's unit.
 * @param {import('./targets.mjs').Row} row @param {Record<string, number>} value @param {import('./targets.mjs').Bound | undefined} bound
 * @returns {Verdict | null} null where there is no bound, or the other side was not there
 */
export function judge(row, value, bound) {
  const own = value['hal0']
  if (bound === undefined || own === undefined) return null
  if ('atMost' in bound) return { text: `≤ ${bound.atMost} ${row.unit}`, ratio: null, isMet: own <= bound.atMost }
  const base = value[bound.of]
  if (base === undefined) return null
  const direct = row.isAdded === true ? (value['direct'] ?? 0) : 0
  const least = row.leastBase ?? Number.EPSILON
  const ratio = Math.max(own - direct, least) / Math.max(base - direct, least)
  const isMet = row.isMoreBetter === true ? ratio >= bound.times : ratio <= bound.times
  return { text: `${row.isMoreBetter === true ? '≥' : '≤'} ${bound.times} × ${bound.of}`, ratio, isMet }
}

/** The rows of a line. @param {string} key @param {import('./line.mjs').Outcome} outcome */
export function rowsOf(key, outcome) {
  if (outcome.skipped !== undefined) return []
  /** @type {Record<string, Record<string, number>>} */
  const middle = Object.fromEntries(
    Object.entries(outcome.sides).map(([side, rounds]) => [side, medians(rounds ?? [])]),
  )
  return ROWS.filter((row) => row.line === key && middle['hal0']?.[row.key] !== undefined).map((row) => {
    const value = Object.fromEntries(
      Object.entries(middle).flatMap(([side, numbers]) =>
        numbers[row.key] === undefined ? [] : [[side, numbers[row.key]]],
      ),
    )
    return {
      name: row.name,
      unit: row.unit,
      value,
      gate: judge(row, value, row.gate),
      goal: judge(row, value, row.goal),
    }
  })
}

/** @param {ReturnType<typeof rowsOf>} rows */
export const missedGates = (rows) => rows.filter((row) => row.gate !== null && !row.gate.isMet)

/**
 * Which of two measurements of one line counts: the one that met more gates, the first of equals (to choose the better numbers of two would be
 * to measure until they please). What went wrong in either counts: a request that failed has failed.
 * @template {{ rows: ReturnType<typeof rowsOf>, errors: Record<string, number> }} Measured
 * @param {Measured} first @param {Measured} second @returns {Measured}
 */
export function betterOf(first, second) {
  const errors = { ...first.errors }
  for (const [why, n] of Object.entries(second.errors)) errors[why] = (errors[why] ?? 0) + n
  // Counted by what was met: a line that was skipped the second time has missed nothing.
  return { ...(gatesMet(second.rows) > gatesMet(first.rows) ? second : first), errors }
}

/** @param {ReturnType<typeof rowsOf>} rows */
const gatesMet = (rows) => rows.filter((row) => row.gate?.isMet === true).length

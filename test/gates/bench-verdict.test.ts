import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

interface Verdict {
  readonly text: string
  readonly ratio: number | null
  readonly isMet: boolean
}
interface TableRow {
  readonly name: string
  readonly value: Readonly<Record<string, number>>
  readonly gate: Verdict | null
  readonly goal: Verdict | null
}
type Bound = { readonly times: number; readonly of: string } | { readonly atMost: number }
interface Row {
  readonly unit: string
  readonly isMoreBetter?: true
  readonly isAdded?: true
  readonly leastBase?: number
}
interface Measured {
  readonly rows: readonly TableRow[]
  readonly errors: Readonly<Record<string, number>>
  readonly skipped?: string
}
type Numbers = Readonly<Record<string, number>>

const path: string = join(fileURLToPath(new URL('../..', import.meta.url)), 'bench/lib/verdict.mjs')
const { judge, rowsOf, missedGates, betterOf } = (await import(path)) as {
  judge: (row: Row, value: Numbers, bound: Bound | undefined) => Verdict | null
  rowsOf: (
    key: string,
    outcome: { readonly sides: Readonly<Record<string, readonly Numbers[]>>; readonly skipped?: string },
  ) => readonly TableRow[]
  missedGates: (rows: readonly TableRow[]) => readonly TableRow[]
  betterOf: (first: Measured, second: Measured) => Measured
}

describe('one number against its bound', () => {
  const bare = (times: number) => ({ times, of: 'bare' })
  it.each<[string, Row, Numbers, Bound, Verdict | null]>([
    [
      'more is better, just enough',
      { unit: '1/s', isMoreBetter: true },
      { hal0: 800, bare: 1000 },
      bare(0.8),
      { text: '≥ 0.8 × bare', ratio: 0.8, isMet: true },
    ],
    [
      'more is better, just too little',
      { unit: '1/s', isMoreBetter: true },
      { hal0: 799, bare: 1000 },
      bare(0.8),
      { text: '≥ 0.8 × bare', ratio: 0.799, isMet: false },
    ],
    [
      'less is better, just little enough',
      { unit: 'MiB' },
      { hal0: 12, bare: 8 },
      bare(1.5),
      { text: '≤ 1.5 × bare', ratio: 1.5, isMet: true },
    ],
    [
      'less is better, just too much',
      { unit: 'MiB' },
      { hal0: 13, bare: 8 },
      bare(1.5),
      { text: '≤ 1.5 × bare', ratio: 1.625, isMet: false },
    ],
    [
      'what is added, not what direct takes itself',
      { unit: 'ms', isAdded: true },
      { direct: 1, hal0: 4, bare: 2 },
      bare(3),
      { text: '≤ 3 × bare', ratio: 3, isMet: true },
    ],
    [
      'what is added by less than the clock can tell',
      { unit: 'ms', isAdded: true, leastBase: 0.5 },
      { direct: 1, hal0: 1.25, bare: 0.75 },
      bare(1),
      { text: '≤ 1 × bare', ratio: 1, isMet: true },
    ],
    [
      'an amount, reached',
      { unit: 'MiB' },
      { hal0: 16 },
      { atMost: 16 },
      { text: '≤ 16 MiB', ratio: null, isMet: true },
    ],
    [
      'an amount, passed',
      { unit: 'MiB' },
      { hal0: 16.5 },
      { atMost: 16 },
      { text: '≤ 16 MiB', ratio: null, isMet: false },
    ],
    ['the other side was not there', { unit: 'MiB' }, { hal0: 1 }, bare(1), null],
    ['hal0 was not there', { unit: 'MiB' }, { bare: 1 }, bare(1), null],
  ])('%s', (_name, row, value, bound, expected) => expect(judge(row, value, bound)).toEqual(expected))

  it('no bound, no verdict', () => expect(judge({ unit: 'ms' }, { hal0: 1 }, undefined)).toBeNull())
})

describe('the rows of a line', () => {
  const rounds = (...perSecond: readonly number[]) => perSecond.map((n) => ({ per_s: n }))

  it('take the median of each side, and know a missed gate', () => {
    const sides = { hal0: rounds(100, 700, 790), bare: rounds(1000, 990, 5000) }
    const rows = rowsOf('throughput', { sides })
    expect(rows).toMatchObject([{ value: { hal0: 700, bare: 1000 }, gate: { ratio: 0.7, isMet: false } }])
    expect(missedGates(rows)).toHaveLength(1)
  })

  it('a line that was skipped has none', () => {
    expect(rowsOf('throughput', { sides: { hal0: rounds(1) }, skipped: 'no wrk' })).toEqual([])
  })

  it('a number without a yardstick misses nothing', () => {
    const rows = rowsOf('throughput', { sides: { hal0: rounds(1) } })
    expect([rows.length, rows[0]?.gate, missedGates(rows)]).toEqual([1, null, []])
  })
})

describe('a line that was measured twice', () => {
  const row = (name: string, isMet: boolean): TableRow => ({
    ...{ name, value: {}, goal: null },
    gate: { text: '≤ 1 × bare', ratio: isMet ? 1 : 2, isMet },
  })
  const run = (met: readonly boolean[], errors: Numbers = {}): Measured => ({
    rows: met.map((isMet, n) => row(`row ${n}`, isMet)),
    errors,
  })

  it.each<[string, Measured, Measured, 'first' | 'second']>([
    ['the second met more', run([false, true]), run([true, true]), 'second'],
    ['the second met as many', run([false, true]), run([true, false]), 'first'],
    ['the second met fewer', run([false, true]), run([false, false]), 'first'],
    ['the second was skipped', run([false]), { rows: [], errors: {}, skipped: 'no nginx' }, 'first'],
    [
      'the second had nothing to compare with',
      run([false, true]),
      { rows: [{ ...row('row 0', true), gate: null }, row('row 1', true)], errors: {} },
      'first',
    ],
  ])('%s', (_name, first, second, expected) => {
    expect(betterOf(first, second).rows).toBe(expected === 'first' ? first.rows : second.rows)
  })

  it.each([
    ['first', run([false], { reset: 2, status_502: 1 }), run([true], { reset: 3 })],
    ['second', run([true], { reset: 3 }), run([false], { reset: 2, status_502: 1 })],
  ])('no failed request of the %s is forgotten', (_name, first, second) => {
    expect(betterOf(first, second).errors).toEqual({ reset: 5, status_502: 1 })
    expect(first.errors).not.toEqual({ reset: 5, status_502: 1 })
  })
})

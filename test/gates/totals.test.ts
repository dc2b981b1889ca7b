import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly string[]
  readonly complaints: readonly string[]
}
interface Suite {
  readonly name: string
  readonly status: string
  readonly assertionResults: readonly {
    readonly status: string
    readonly fullName: string
    readonly failureMessages?: readonly string[]
  }[]
}

const path: string = join(fileURLToPath(new URL('../..', import.meta.url)), 'scripts/gates/totals.mjs')
const { totalsOf, sumTotals } = (await import(path)) as {
  totalsOf: (name: string, report: unknown, exitCode: number | null, skipsFail: boolean) => Totals
  sumTotals: (parts: readonly Totals[]) => Totals
}

const suite = (status: string, ...states: readonly string[]): Suite => ({
  name: 'a.test.ts',
  status,
  assertionResults: states.map((state, index) => ({ status: state, fullName: `test ${index}` })),
})
const report = (...testResults: readonly Suite[]) => ({ testResults })

describe('what one run amounts to', () => {
  it.each([
    ['all passed', report(suite('passed', 'passed', 'passed')), 0, { passed: 2, failed: 0 }],
    ['one failed', report(suite('failed', 'passed', 'failed')), 1, { passed: 1, failed: 1 }],
    ['a file that cannot be loaded', report(suite('failed'), suite('passed', 'passed')), 1, { passed: 1, failed: 1 }],
    ['a hook that failed after its tests', report(suite('failed', 'passed')), 1, { passed: 1, failed: 1 }],
    ['no report: the run crashed', undefined, 1, { passed: 0, failed: 1 }],
    ['no report although it ended well', undefined, 0, { passed: 0, failed: 1 }],
    ['no test at all', report(), 0, { passed: 0, failed: 1 }],
    ['an unhandled error beside green tests', report(suite('passed', 'passed')), 1, { passed: 1, failed: 1 }],
    ['killed after green tests', report(suite('passed', 'passed')), null, { passed: 1, failed: 1 }],
    ['skipped tests', report(suite('passed', 'passed', 'skipped', 'pending', 'todo')), 0, { passed: 1, failed: 0 }],
  ])('%s', (_what, given, exitCode, expected) => {
    expect(totalsOf('unit', given, exitCode, false)).toMatchObject(expected)
  })

  it('tells why a test failed, in few lines', () => {
    const failureMessages = [`Error: expected 4\n${'at somewhere\n'.repeat(40)}`]
    const failed = { status: 'failed', fullName: 'adds', failureMessages }
    const [said = ''] = totalsOf(
      'unit',
      report({ ...suite('failed'), assertionResults: [failed] }),
      1,
      false,
    ).complaints
    expect(said.split('\n')).toHaveLength(18)
    expect(said).toMatch(/^unit: failed: adds\n {4}Error: expected 4\n {4}at somewhere\n[^]*…$/)
  })

  it('counts a skipped test as failed where nothing may be skipped, and names it', () => {
    const totals = totalsOf('engines', report(suite('passed', 'passed', 'skipped')), 0, true)
    expect(totals).toMatchObject({ passed: 1, failed: 1, skipped: ['test 1'] })
    expect(totals.complaints.join()).toContain('test 1')
  })

  it('adds up', () => {
    const one = { passed: 1, failed: 2, skipped: ['a'], complaints: ['x'] }
    const other = { passed: 10, failed: 20, skipped: ['b'], complaints: [] }
    expect(sumTotals([one, other])).toEqual({ passed: 11, failed: 22, skipped: ['a', 'b'], complaints: ['x'] })
  })
})

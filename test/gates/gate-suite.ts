import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type House, loadGates, makeHouse } from './house.ts'

/** One thing that is wrong (or, in `allowed`, only looks so) in an otherwise clean house. */
export type Row = readonly [what: string, gate: string, path: string, text: string]

/**
 * Proves gates: a clean house passes each, each violation fails its gate and is named, what is allowed passes, and a house with
 * nothing to inspect fails those in `blind`. Every gate of `names` needs a violation. One house serves the suite, a violation at a time.
 */
export async function gateSuite(
  names: readonly string[],
  rows: { readonly violations: readonly Row[]; readonly allowed: readonly Row[]; readonly blind: readonly string[] },
): Promise<void> {
  const gates = await loadGates()
  let house: House
  beforeAll(() => {
    house = makeHouse(gates)
    // The error page is printed from what the build leaves.
    const { exitCode, output } = house.run('build')
    expect(exitCode, output).toBe(0)
  })
  afterAll(() => house.close())

  it.each(names)('a clean house passes: %s', (gate) => {
    const { exitCode, output } = house.run(gate)
    expect(exitCode, output).toBe(0)
  })

  describe('a violation is found and its file named', () => {
    it.each(rows.violations)('%s: %s', (_what, gate, path, text) => {
      const { exitCode, output } = house.tryWith(path, text, gate)
      // A whole room that is unknown is named by its folder.
      expect(output).toContain(path === 'src/attic/box.ts' ? 'src/attic:' : path)
      expect(exitCode).not.toBe(0)
    })

    it.each(names)('at least one is known for: %s', (gate) => {
      expect(rows.violations.map(([, proven]) => proven)).toContain(gate)
    })
  })

  describe('what is allowed stays allowed', () => {
    it.each(rows.allowed)('%s: %s', (_what, gate, path, text) => {
      const { exitCode, output } = house.tryWith(path, text, gate)
      expect(exitCode, output).toBe(0)
    })
  })

  it.each(rows.blind)('a gate that has nothing to inspect fails: %s', (gate) => {
    const empty = makeHouse(gates)
    try {
      for (const path of ['src', 'test', 'vitest.config.ts']) empty.remove(path)
      if (gate === 'lint') empty.remove('scripts')
      const { exitCode, output } = empty.run(gate)
      expect(exitCode, output).not.toBe(0)
    } finally {
      empty.close()
    }
  })
}

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

type Numbers = Readonly<Record<string, number>>
interface Measured {
  readonly one: readonly Numbers[]
  readonly all: readonly Numbers[]
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const job: string = join(root, 'bench/scheduler/measure.mjs')
const targets: string = join(root, 'bench/lib/targets.mjs')
const { scheduler } = (await import(job)) as {
  scheduler: (job: { dist: string; rounds: number; many: number; perLane: number }) => Promise<Measured>
}
const { ROWS } = (await import(targets)) as { ROWS: readonly { readonly line: string; readonly key: string }[] }

// The bench puts the daemon's parts together in plain JavaScript, which no type checks.
describe('the timetable of the bench', () => {
  it('measures a number for each of its rows, on both sides', async () => {
    const measured = await scheduler({ dist: join(root, 'dist'), rounds: 1, many: 3, perLane: 15 })
    const keys = ROWS.filter(({ line }) => line === 'scheduler').map(({ key }) => key)
    expect(keys).not.toEqual([])
    for (const side of [measured.one, measured.all]) {
      expect(Object.keys(side[0] ?? {}).toSorted()).toEqual(keys.toSorted())
      expect(Object.values(side[0] ?? {}).filter((value) => !(value > 0))).toEqual([])
    }
  })
})

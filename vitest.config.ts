import { defineConfig } from 'vitest/config'

/** One project per kind of test (CONTRIBUTING.md, "Tests"). */
const project = (name: string, include: string[], extra: Record<string, unknown> = {}) => ({
  test: { name, include, environment: 'node', testTimeout: 30_000, hookTimeout: 60_000, ...extra },
})

/** Most files wait for daemons and engines most of the time: two at a time also where there are two cores. Those with real engines run alone, as each takes all of them. */
const TWO_AT_A_TIME = { maxWorkers: 2 }

/** One kind after the other. */
const inOrder = (projects: readonly ReturnType<typeof project>[]) =>
  projects.map(({ test }, groupOrder) => ({ test: { ...test, sequence: { groupOrder } } }))

export default defineConfig({
  test: {
    projects: inOrder([
      project('unit', ['src/**/*.test.ts'], TWO_AT_A_TIME),
      project('gates', ['test/gates/**/*.test.ts'], { testTimeout: 120_000 }),
      project('contract', ['test/contract/**/*.test.ts'], {
        ...TWO_AT_A_TIME,
        globalSetup: ['test/support/build.ts'],
      }),
      project('gateway', ['test/gateway/**/*.test.ts'], {
        ...TWO_AT_A_TIME,
        globalSetup: ['test/support/build.ts'],
        testTimeout: 60_000,
      }),
      project('engines', ['test/engines/**/*.test.ts'], {
        maxWorkers: 1,
        globalSetup: ['test/support/build.ts'],
        testTimeout: 180_000,
      }),
      project('lab', ['test/lab/**/*.test.ts'], { testTimeout: 600_000, hookTimeout: 600_000 }),
    ]),
  },
})

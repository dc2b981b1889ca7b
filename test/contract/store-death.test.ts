import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { type StoreHome, storeHome } from '../support/store-harness.ts'

const PROGRAM = fileURLToPath(new URL('fixtures/store-child.mjs', import.meta.url))
const WITHOUT_RIGHTS = ['setpriv', '--bounding-set=-dac_override,-dac_read_search']

let place: StoreHome
const children: ChildProcess[] = []
beforeEach(() => {
  place = storeHome()
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  place.remove()
})

/** `wrapper`: a program that starts the child, with its options. */
function start(args: readonly string[], wrapper: readonly string[] = []): ChildProcess & { stdout: Readable } {
  const [program = process.execPath, ...rest] = [...wrapper, process.execPath, PROGRAM, place.home.label, ...args]
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

/** What `open` prints, once the process has ended. */
async function openOnce(wrapper: readonly string[] = []): Promise<unknown> {
  const child = start(['open'], wrapper)
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return JSON.parse(output)
}

/** Kills a writer once it has told of so many turns; the answer: how many loads it had told of by then. */
async function killAfter(turns: number, first: number): Promise<number> {
  const child = start(['write', String(first)])
  const exited = once(child, 'exit')
  let told = first
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    told = Number(line)
    if (++seen === turns) child.kill('SIGKILL')
  }
  await exited
  return told
}

describe('the store of a process that is killed', () => {
  it('has every batch that was written, whole and in order, time after time', async () => {
    let before = 0
    for (const turns of [1, 3, 4, 7, 12]) {
      const told = await killAfter(turns, before)
      const store = place.open()
      const numbers = store.loads.recent('agent', 200).map((record) => Number(record.attempt_id))
      const newest = numbers[0] ?? before - 1
      // Whole batches only, and at most the last one that it told of is missing.
      expect((newest + 1 - before) % 100).toBe(0)
      expect(newest + 1).toBeGreaterThanOrEqual(told - 200)
      expect(newest + 1).toBeLessThanOrEqual(told)
      expect(numbers).toEqual(numbers.map((_, index) => newest - index))
      expect(numbers).toHaveLength(Math.min(200, newest + 1))
      expect(store.db?.pragma('integrity_check', { simple: true })).toBe('ok')
      store.close()
      before = newest + 1
    }
    expect(before).toBeGreaterThan(200)
    expect(place.events).toEqual([])
  })
})

describe('several processes that open a home at once', () => {
  it('make one schema together, each step once', async () => {
    const numbers = MIGRATIONS.map(({ number }) => number)
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([openOnce(), openOnce(), openOnce(), openOnce()])
      const expected = { problem: null, events: [], migrations: numbers, newest: '-1' }
      expect(answers).toEqual([expected, expected, expected, expected])
      place.remove()
      place = storeHome()
    }
  })
})

describe('a home that cannot be written', () => {
  it('has its history in memory, told once', async (context) => {
    // Root may write everywhere, unless it is started without that right.
    const wrapper = process.getuid?.() === 0 ? WITHOUT_RIGHTS : []
    const [program, ...rest] = [...wrapper, 'true']
    context.skip(spawnSync(program ?? 'true', rest).status !== 0, 'setpriv cannot take the rights of root here')
    chmodSync(place.home.varLib, 0o555)
    try {
      const answer = await openOnce(wrapper)
      const problem = expect.stringMatching(/EACCES|EROFS/)
      expect(answer).toMatchObject({ problem, events: ['store.off'], newest: '-1' })
    } finally {
      chmodSync(place.home.varLib, 0o755)
    }
  })
})

import { expect, it } from 'vitest'
import { eventually } from '../support/daemon-harness.ts'
import { enginesOf, isUp, makeOwnHome, type Served, serve } from './adoption-world.ts'

const ROUNDS = Number(process.env['HAL0_TEST_ADOPTION_ROUNDS'] ?? 30)
const SLOTS = ['a', 'b', 'c'] as const

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Wishes one after another until nobody answers any more. */
async function wish(daemon: Served, slot: string, random: () => number): Promise<void> {
  const wishes = [
    () => daemon.post(`/api/slots/${slot}/load`),
    () => daemon.post(`/api/slots/${slot}/unload?drain_s=0`),
    () => daemon.post(`/api/slots/${slot}/restart?drain_s=0`),
    () => daemon.post(`/api/slots/${slot}/swap`, { model_id: random() < 0.5 ? 'twin' : 'hello', persist: false }),
    () => daemon.chat(slot, { stream: true, max_tokens: 50 }),
  ]
  for (;;) {
    try {
      const answer = await wishes[Math.floor(random() * wishes.length)]?.()
      await answer?.text()
    } catch {
      return
    }
  }
}

/** Every slot says what there is: one process where it has one, none where it has none. */
async function expectTruth(daemon: Served, enginesNow: () => Promise<Readonly<Record<string, readonly number[]>>>) {
  await eventually(async () =>
    (await daemon.rows()).every((row) => ['offline', 'error'].includes(row.state) || isUp(row)),
  )
  const engines = await enginesNow()
  const rows = await daemon.rows()
  const said = Object.fromEntries(rows.flatMap(({ name, pid }) => (pid === null ? [] : [[name, [pid]]])))
  expect(engines).toEqual(said)
}

it(`${ROUNDS} times killed at any moment of loads, unloads, restarts and swaps: never two engines of a slot, never one lost`, async () => {
  const seed = Number(process.env['HAL0_TEST_SEED'] ?? Date.now() % 100_000)
  console.info(`seed ${seed} (HAL0_TEST_SEED repeats it)`)
  const random = randomFrom(seed)
  const at = await makeOwnHome({
    a: { knobs: { load_ms: 30 } },
    b: { knobs: { slow_stop_ms: 50 } },
    c: { autoload: true },
  })
  let adopted = 0
  let ended = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const daemon = await serve(at)
    await expectTruth(daemon, () => enginesOf(at))
    const types = (await daemon.events()).map(({ type }) => type)
    adopted += types.filter((type) => type === 'slot.adopted').length
    ended += types.filter((type) => type === 'slot.survivor_stopped').length
    expect(types.filter((type) => type === 'slot.crashed')).toEqual([])
    const wishing = SLOTS.map((slot) => wish(daemon, slot, random))
    // The moment of the death is the point of this test; nothing is waited for.
    await new Promise((resolve) => setTimeout(resolve, random() * 900))
    await daemon.kill9()
    await Promise.all(wishing)
    for (const pids of Object.values(await enginesOf(at))) expect(pids.length).toBeLessThanOrEqual(1)
  }
  const last = await serve(at)
  await expectTruth(last, () => enginesOf(at))
  for (const slot of SLOTS) expect([slot, (await last.chat(slot)).status]).toEqual([slot, 200])
  expect(await last.end()).toBe(0)
  expect(await enginesOf(at)).toEqual({})
  // A loop that found nothing to take over has shown nothing.
  expect(adopted).toBeGreaterThan(ROUNDS / 3)
  console.info(`${adopted} engines gone on with, ${ended} ended`)
}, 300_000)

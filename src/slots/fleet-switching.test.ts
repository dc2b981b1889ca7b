import { describe, expect, it } from 'vitest'
import { type Arrival, playFairTurns } from '../../test/support/fair-turns.ts'
import { type FleetAnswer, type FleetHarness, openFleetHarness } from '../../test/support/fleet-harness.ts'
import { poolOf } from '../../test/support/memory-world.ts'
import { sleep } from '../kernel/clock.ts'

const CARD = [poolOf('host', 64), poolOf('gpu0', 24)]
const LOAD_MS = 1000
const STOP_MS = 200
/** A real host asks an engine every 100 ms whether it is up, and looks around now and then: what that adds to a wait, beside a tenth. */
const SLACK_MS = 300

/** Slots of 20 GiB each on a card of 24. */
function rivals(names: readonly string[], parallel: number | null = null) {
  const slot = { gpuGib: 20, loadMs: LOAD_MS, stopMs: STOP_MS, parallel }
  return openFleetHarness({ slots: Object.fromEntries(names.map((name) => [name, slot])), pools: CARD })
}

/** Sends each request at its time; resolves with all answers in the order of arrival. */
async function play(fleet: FleetHarness, arrivals: readonly Arrival[], serveMs: number): Promise<FleetAnswer[]> {
  const answers: Promise<FleetAnswer>[] = []
  for (const { atMs, slot } of arrivals) {
    const waitMs = atMs - fleet.clock.monotonicMs()
    if (waitMs > 0) await fleet.clock.advance(waitMs)
    answers.push(fleet.ask(slot, serveMs))
  }
  return await fleet.until(Promise.all(answers))
}

function expectFair(
  fleet: FleetHarness,
  arrivals: readonly Arrival[],
  answers: readonly FleetAnswer[],
  best: { loads: number; longestMs: number },
) {
  expect(answers.filter(({ how }) => how !== 'served')).toEqual([])
  expect(answers).toHaveLength(arrivals.length)
  expect(fleet.starts().length).toBeLessThanOrEqual(best.loads)
  const longestMs = Math.max(...answers.map(({ waitedMs }) => waitedMs))
  expect(longestMs).toBeLessThanOrEqual(best.longestMs * 1.1 + SLACK_MS)
  expect(fleet.machine.overdrawnBytes).toBe(0)
}

describe('1,000 requests for models that do not fit together', () => {
  it.each([
    { names: ['a', 'b'], parallel: null, everyMs: 50, serveMs: 20 },
    { names: ['a', 'b'], parallel: 4, everyMs: 50, serveMs: 20 },
    { names: ['a', 'b'], parallel: 1, everyMs: 50, serveMs: 20 },
    { names: ['a', 'b'], parallel: 4, everyMs: 50, serveMs: 150 },
    { names: ['a', 'b', 'c'], parallel: null, everyMs: 50, serveMs: 20 },
    { names: ['a', 'b', 'c'], parallel: 1, everyMs: 60, serveMs: 20 },
    { names: ['a', 'b', 'c'], parallel: 4, everyMs: 60, serveMs: 100 },
  ])(
    '$names in turn, every $everyMs ms for $serveMs ms, $parallel at once: nobody starves, no switch too many',
    async ({ names, parallel, everyMs, serveMs }) => {
      const fleet = await rivals(names, parallel)
      const arrivals = Array.from({ length: 1000 }, (_, i) => ({
        atMs: i * everyMs,
        slot: names[i % names.length] ?? '',
      }))
      const answers = await play(fleet, arrivals, serveMs)
      const best = playFairTurns(arrivals, { serveMs, loadMs: LOAD_MS, stopMs: STOP_MS, parallel })
      expectFair(fleet, arrivals, answers, best)
    },
  )

  it.each([
    { names: ['a', 'b'], seed: 1 },
    { names: ['a', 'b', 'c'], seed: 2 },
  ])('$names at random, with bursts and silences', async ({ names, seed }) => {
    const random = randomOf(seed)
    const fleet = await rivals(names, 4)
    let atMs = 0
    const arrivals = Array.from({ length: 1000 }, () => {
      // Mostly a burst, at times a long silence.
      atMs += random() < 0.02 ? 4000 * random() : 100 * random()
      return { atMs: Math.round(atMs), slot: names[Math.floor(random() * names.length)] ?? '' }
    })
    const serveMs = 60
    const answers = await play(fleet, arrivals, serveMs)
    const best = playFairTurns(arrivals, { serveMs, loadMs: LOAD_MS, stopMs: STOP_MS, parallel: 4 })
    expectFair(fleet, arrivals, answers, best)
  })

  it('ten clients, each asks for one and the other in turn, and thinks between', async () => {
    const random = randomOf(3)
    const fleet = await rivals(['a', 'b'], 4)
    let served = 0
    let longestMs = 0
    const client = async (nth: number): Promise<void> => {
      for (let i = 0; i < 100; i++) {
        const { how, waitedMs } = await fleet.ask((nth + i) % 2 === 0 ? 'a' : 'b', 60)
        if (how === 'served') served += 1
        longestMs = Math.max(longestMs, waitedMs)
        await sleep(fleet.clock, 200 * random())
      }
    }
    await fleet.until(Promise.all(Array.from({ length: 10 }, (_, nth) => client(nth))))
    expect(served).toBe(1000)
    // Whoever waits for a switch waits for one turn of the other model: it serves at most ten, four at a time.
    expect(longestMs).toBeLessThanOrEqual(2 * (LOAD_MS + STOP_MS) + 3 * 60 + SLACK_MS)
    // Each turn serves all who wait: were it one switch for each request, there would be 1,000.
    expect(fleet.starts().length).toBeLessThanOrEqual(1000 / 5)
    expect(fleet.machine.overdrawnBytes).toBe(0)
  })

  it.each([{ names: ['a', 'b'] }, { names: ['a', 'b', 'c'] }])(
    '$names at once: each is loaded once',
    async ({ names }) => {
      const fleet = await rivals(names, 4)
      const arrivals = Array.from({ length: 1000 }, (_, i) => ({ atMs: 0, slot: names[i % names.length] ?? '' }))
      const answers = await play(fleet, arrivals, 20)
      expect(answers.filter(({ how }) => how === 'served')).toHaveLength(1000)
      expect(fleet.starts()).toEqual(names)
    },
  )
})

describe('CASES 13: A, B, A, C, A, B for slots that exclude each other', () => {
  const order = ['a', 'b', 'a', 'c', 'a', 'b']
  const small = { gpuGib: 2, loadMs: LOAD_MS, stopMs: STOP_MS, parallel: 1 }

  it.each([
    { why: 'a group of [slots.groups]', gpuGib: 2, groups: { big: ['a', 'b', 'c'] } },
    { why: 'memory', gpuGib: 20, groups: {} },
  ])(
    'for $why: at most one switch for each, in the order of the oldest, and nobody waits for ever',
    async ({ gpuGib, groups }) => {
      const slot = { ...small, gpuGib }
      const fleet = await openFleetHarness({ slots: { a: slot, b: slot, c: slot }, pools: CARD, desk: { groups } })
      const answers = await play(
        fleet,
        order.map((name) => ({ atMs: 0, slot: name })),
        100,
      )
      expect(answers.map(({ how }) => how)).toEqual(order.map(() => 'served'))
      expect(fleet.starts()).toEqual(['a', 'b', 'c'])
      // Three at a, two at b, one at c, one after the other; each waits for the loads before it.
      const waits = answers.map(({ waitedMs }) => waitedMs)
      expect(Math.max(...waits)).toBeLessThanOrEqual(3 * LOAD_MS + 2 * STOP_MS + 5 * 100 + 2 * SLACK_MS)
    },
  )

  it('for a group, one after the other while requests go on: no more switches than a perfect host needs', async () => {
    const fleet = await openFleetHarness({
      slots: { a: small, b: small, c: small },
      pools: CARD,
      desk: { groups: { big: ['a', 'b', 'c'] } },
    })
    const arrivals = Array.from({ length: 600 }, (_, i) => ({ atMs: i * 60, slot: order[i % order.length] ?? '' }))
    const answers = await play(fleet, arrivals, 20)
    const best = playFairTurns(arrivals, { serveMs: 20, loadMs: LOAD_MS, stopMs: STOP_MS, parallel: 1 })
    expectFair(fleet, arrivals, answers, best)
  })

  it('slots that are in no group with each other stay up side by side', async () => {
    const fleet = await openFleetHarness({
      slots: { a: small, b: small, c: small },
      pools: CARD,
      desk: { groups: { big: ['a', 'b'] } },
    })
    const answers = await play(
      fleet,
      order.map((name) => ({ atMs: 0, slot: name })),
      100,
    )
    expect(answers.map(({ how }) => how)).toEqual(order.map(() => 'served'))
    expect(fleet.starts().toSorted()).toEqual(['a', 'b', 'c'])
    expect(fleet.running().toSorted()).toEqual(['b', 'c'])
  })
})

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

import { expect, it } from 'vitest'
import { ArbiterWorld, type Outcome } from '../../test/support/arbiter-world.ts'

/** Mulberry32: the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function world(): ArbiterWorld {
  return new ArbiterWorld()
    .add('agent')
    .add('coder', { state: 'offline' })
    .add('embed', { type: 'embedding' })
    .add('img', { type: 'image', state: 'offline' })
}

/** Times between one switch and the next, in ms, by the events. */
function stays(w: ArbiterWorld): readonly number[] {
  const atMs = w.events
    .filter((event) => event.type === 'arbiter.switched')
    .map((event) => Date.parse(String(event.data['at'])))
  return atMs.slice(1).map((one, nth) => one - (atMs[nth] ?? 0))
}

/** In seconds: how long a request works at most. */
it.each([
  [1, 10],
  [2, 10],
  [3, 3],
  [4, 25],
  [5, 10],
  [6, 1],
])(
  '200 mixed requests, seed %i, up to %i s of work: none is cut or lost, memory is held once, all settle',
  async (seed, workS) => {
    const w = world()
    const arbiter = await w.open()
    const random = randomOf(seed)
    const names = ['agent', 'coder', 'embed', 'img', 'img']
    const outcomes: Promise<Outcome>[] = []
    for (let nth = 0; nth < 200; nth++) {
      const name = names[Math.floor(random() * names.length)] ?? 'agent'
      outcomes.push(w.request(arbiter, name, 50 + random() * workS * 1_000))
      await w.clock.advance(random() * 4_000)
    }
    await w.clock.advance(600_000)
    const all = await Promise.all(outcomes)
    expect(w.violations).toEqual([])
    // Work is short here, so every request of a language model could be waited for; an image may have to come again.
    const results = (isImage: boolean) =>
      new Set(all.filter(({ slot }) => (slot === 'img') === isImage).map(({ result }) => result))
    expect([...results(false)]).toEqual(['done'])
    expect([...results(true)]).toEqual(['done'])
    expect(Math.max(...all.map(({ waitedMs }) => waitedMs))).toBeLessThan(120_000)
    expect(Math.min(...stays(w))).toBeGreaterThanOrEqual(30_000)
    expect(await arbiter.status()).toMatchObject({ mode: 'llm', switching_to: null, saved_slots: [], rendering: 0 })
    await arbiter.close()
    expect(w.clock.pendingTimers).toBe(0)
  },
)

it('200 requests that alternate every second cause few switches', async () => {
  const w = world()
  const arbiter = await w.open()
  const outcomes: Promise<Outcome>[] = []
  for (let nth = 0; nth < 200; nth++) {
    outcomes.push(w.request(arbiter, nth % 2 === 0 ? 'agent' : 'img', 400))
    await w.clock.advance(1_000)
  }
  await w.clock.advance(200_000)
  expect(new Set((await Promise.all(outcomes)).map(({ result }) => result))).toEqual(new Set(['done']))
  expect(stays(w).length).toBeLessThan(10)
  expect(w.violations).toEqual([])
})

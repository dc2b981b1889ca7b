import { expect, it } from 'vitest'
import { ArbiterWorld } from '../../test/support/arbiter-world.ts'
import { failure } from '../../test/support/failure.ts'
import { settle } from '../../test/support/manual-clock.ts'

const signal = new AbortController().signal

/** Two language slots that serve and an image slot that is off, on one card; one on the CPU. */
function world(): ArbiterWorld {
  return new ArbiterWorld()
    .add('agent')
    .add('coder', { state: 'idle' })
    .add('plain', { device: 'cpu' })
    .add('img', { type: 'image', runner: 'comfyui', state: 'offline' })
}

it('lets everybody pass where nobody takes turns, with one pass for all', async () => {
  const w = new ArbiterWorld().add('agent').add('coder')
  const arbiter = await w.open()
  const pass = arbiter.enterNow('agent')
  expect(pass).toBeDefined()
  expect(arbiter.enterNow('coder')).toBe(pass)
  pass?.leave()
  expect(arbiter.enterNow('agent')).toBe(pass)
})

it('lets the group pass that has the memory, and not the other; a slot without turns always', async () => {
  const w = world()
  const arbiter = await w.open()
  const pass = arbiter.enterNow('agent')
  expect([pass?.loadWaitMs, arbiter.enterNow('img'), arbiter.enterNow('plain')]).toEqual([
    undefined,
    undefined,
    expect.anything(),
  ])
  // It left no trace: nothing waits for images, nothing switches.
  expect((await arbiter.status()).waiting).toEqual({ llm: 0, img: 0 })
  pass?.leave()
  await w.clock.advance(60_000)
  expect([w.mode, w.told]).toEqual(['llm', []])
})

it('counts as any other pass: a switch waits until it has left, once', async () => {
  const w = world()
  const arbiter = await w.open()
  const first = arbiter.enterNow('agent')
  const second = arbiter.enterNow('agent')
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(10_000)
  first?.leave()
  first?.leave()
  await w.clock.advance(10_000)
  expect([w.state('agent'), w.mode]).toEqual(['ready', 'llm'])
  second?.leave()
  await w.clock.advance(10_000)
  expect((await image).result).toBe('done')
  expect(w.mode).toBe('img')
  expect([arbiter.enterNow('agent'), arbiter.enterNow('plain')]).toEqual([undefined, expect.anything()])
  const pass = arbiter.enterNow('img')
  expect((await arbiter.status()).rendering).toBe(1)
  pass?.leave()
  expect((await arbiter.status()).rendering).toBe(0)
})

it('lets nobody pass while a switch is under way, nor past those who wait', async () => {
  const w = world()
  const arbiter = await w.open()
  const running = w.request(arbiter, 'agent', 5_000)
  await settle()
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(1_000)
  expect(arbiter.enterNow('agent')).toBeUndefined()
  const late = w.request(arbiter, 'coder', 1_000)
  await w.clock.advance(60_000)
  expect([await running, await image, await late].map(({ result }) => result)).toEqual(['done', 'done', 'done'])
  expect(w.violations).toEqual([])
})

it('lets nobody pass once it is closed: enter says why', async () => {
  const w = world()
  const arbiter = await w.open()
  await arbiter.close()
  expect(arbiter.enterNow('agent')).toBeUndefined()
  expect(await failure(arbiter.enter('agent', { signal }))).toBeDefined()
})

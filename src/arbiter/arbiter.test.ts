import { expect, it } from 'vitest'
import { ArbiterWorld } from '../../test/support/arbiter-world.ts'
import { failure } from '../../test/support/failure.ts'
import { settle } from '../../test/support/manual-clock.ts'

/** Two language slots that serve, and an image slot that is off, on one card. */
function world(): ArbiterWorld {
  return new ArbiterWorld()
    .add('agent')
    .add('coder', { state: 'idle' })
    .add('img', { type: 'image', runner: 'comfyui', state: 'offline' })
}

it('an image request unloads the language slots, renders, and 30 s later they are back', async () => {
  const w = world()
  const arbiter = await w.open()
  const image = w.request(arbiter, 'img', 3_000)
  await w.clock.advance(100)
  expect(w.state('agent')).toBe('unloading')
  await w.clock.advance(900)
  expect([w.state('agent'), w.state('coder'), w.state('img')]).toEqual(['offline', 'offline', 'starting'])
  await w.clock.advance(8_000)
  expect(await image).toMatchObject({ result: 'done' })
  expect(w.mode).toBe('img')
  expect([arbiter.isSaved('agent'), arbiter.isSaved('coder'), arbiter.isSaved('img')]).toEqual([true, true, false])
  await w.clock.advance(40_000)
  expect(w.mode).toBe('llm')
  expect(w.freed).toBe(1)
  await w.clock.advance(10_000)
  expect([w.state('agent'), w.state('coder'), w.state('img')]).toEqual(['ready', 'ready', 'ready'])
  expect((await arbiter.status()).saved_slots).toEqual([])
  expect(w.violations).toEqual([])
  expect(w.told).toEqual(['arbiter.switching', 'arbiter.switched', 'arbiter.switching', 'arbiter.switched'])
  await arbiter.close()
  expect(w.clock.pendingTimers).toBe(0)
})

it('a running language request is waited for, not cut, and who comes meanwhile is served after the image', async () => {
  const w = world()
  const arbiter = await w.open()
  const first = w.request(arbiter, 'agent', 20_000)
  await settle()
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(1_000)
  const late = w.request(arbiter, 'agent', 1_000)
  await w.clock.advance(18_000)
  expect(w.order).toEqual(['agent'])
  await w.clock.advance(80_000)
  expect([await first, await image, await late].map(({ result }) => result)).toEqual(['done', 'done', 'done'])
  expect(w.order).toEqual(['agent', 'img', 'agent'])
  expect(w.violations).toEqual([])
})

it.each([
  [119_999, 'done'],
  [120_001, 'gpu.inference_mode'],
])('language requests that run for %i ms more: the image request is %s', async (workMs, expected) => {
  const w = world()
  const arbiter = await w.open()
  const long = w.request(arbiter, 'agent', workMs)
  await settle()
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(60_000)
  // Nothing is unloaded before all of them have ended: a switch that comes to nothing costs nothing.
  expect(w.state('coder')).toBe('idle')
  await w.clock.advance(90_000)
  expect((await image).result).toBe(expected)
  expect((await long).result).toBe('done')
  expect(w.violations).toEqual([])
  if (expected !== 'done') expect([w.state('coder'), w.told.at(-1)]).toEqual(['idle', 'arbiter.rolled_back'])
})

it('leases that no pass stands behind hold the switch too; those that had gone are loaded again', async () => {
  const w = world()
  const arbiter = await w.open()
  const agent = w.slots.get('agent')
  if (agent !== undefined) Object.assign(agent, { state: 'serving', in_flight: 1 })
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(60_000)
  expect([w.state('agent'), w.state('coder')]).toEqual(['serving', 'offline'])
  await w.clock.advance(60_100)
  const outcome = await image
  expect(outcome).toMatchObject({ result: 'gpu.inference_mode' })
  expect(outcome.retryAfterS).toBeGreaterThan(0)
  await w.clock.advance(10_000)
  expect([w.state('agent'), w.state('coder'), w.mode]).toEqual(['serving', 'ready', 'llm'])
})

it('an image slot that fails, or is never ready: the language models come back, and the request is told', async () => {
  for (const kind of ['failing', 'hanging'] as const) {
    const w = world()
    w[kind].add('img')
    const arbiter = await w.open()
    const image = w.request(arbiter, 'img', 1_000)
    await w.clock.advance(130_000)
    expect((await image).result).toBe('gpu.img_not_ready')
    await w.clock.advance(10_000)
    expect([w.state('agent'), w.state('coder'), w.mode]).toEqual(['ready', 'ready', 'llm'])
    expect(['error', 'offline']).toContain(w.state('img'))
    expect(w.violations).toEqual([])
  }
})

it('an image slot that cannot start, or rests after failures, costs the language models nothing', async () => {
  const breaker = { state: 'parked' as const, failures: 5, retry_after_s: 77 }
  for (const row of [{ config_problem: 'no model' }, { breaker }]) {
    const w = new ArbiterWorld().add('agent').add('img', { type: 'image', state: 'offline', ...row })
    const arbiter = await w.open()
    const image = await w.request(arbiter, 'img', 1_000)
    expect(image.result).toBe('gpu.img_not_ready')
    if ('breaker' in row) expect(image.retryAfterS).toBe(77)
    expect([w.state('agent'), w.told]).toEqual(['ready', []])
  }
})

it('a request that leaves while the language models drain takes the switch back', async () => {
  const w = world()
  const arbiter = await w.open()
  void w.request(arbiter, 'agent', 50_000)
  const leaving = new AbortController()
  await settle()
  const image = w.request(arbiter, 'img', 1_000, leaving.signal)
  await w.clock.advance(5_000)
  leaving.abort(new Error('left'))
  await settle()
  expect((await image).result).toBe('Error: left')
  expect((await arbiter.status()).switching_to).toBeNull()
  // And the next language request does not wait.
  expect(await Promise.race([arbiter.enter('coder', { signal: new AbortController().signal }), settle()])).toBeDefined()
})

/** Image mode, 31 s old, nothing renders. */
async function imageMode(w = world()) {
  const arbiter = await w.open()
  const image = w.request(arbiter, 'img', 33_000)
  await w.clock.advance(4_600)
  await w.clock.advance(31_000)
  expect(w.mode).toBe('img')
  return { w, arbiter, image }
}

it('a render is never cut: a language request waits for it, and images that come later wait behind it', async () => {
  const { w, arbiter, image } = await imageMode()
  const llm = w.request(arbiter, 'agent', 1_000)
  await settle()
  const later = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(60_000)
  expect((await image).result).toBe('done')
  expect((await llm).result).toBe('done')
  expect((await llm).waitedMs).toBeLessThan(10_000)
  await w.clock.advance(30_000)
  expect((await later).result).toBe('done')
  expect(w.order).toEqual(['img', 'agent', 'img'])
  expect(w.violations).toEqual([])
})

it("a render in ComfyUI's own queue counts like a request", async () => {
  const { w, arbiter } = await imageMode()
  w.ownRenders = 1
  const llm = w.request(arbiter, 'agent', 1_000)
  await w.clock.advance(60_000)
  expect([w.mode, w.freed]).toEqual(['img', 0])
  w.ownRenders = 0
  await w.clock.advance(20_000)
  expect((await llm).result).toBe('done')
})

it('a language request waits 120 s for images, then is told when to come again', async () => {
  const { w, arbiter } = await imageMode()
  w.ownRenders = 1
  const llm = w.request(arbiter, 'agent', 1_000)
  await w.clock.advance(119_999)
  expect((await arbiter.status()).waiting).toEqual({ llm: 1, img: 0 })
  await w.clock.advance(1)
  const outcome = await llm
  expect(outcome).toMatchObject({ result: 'gpu.image_mode', waitedMs: 120_000 })
  expect(outcome.retryAfterS).toBeGreaterThan(0)
})

it('a queue that cannot be read: language requests are told at once, and nothing is touched until it can be', async () => {
  const { w, arbiter } = await imageMode()
  w.isQueueReadable = false
  expect(await w.request(arbiter, 'agent', 1_000)).toMatchObject({ result: 'gpu.image_mode', waitedMs: 0 })
  await w.clock.advance(200_000)
  expect([w.mode, w.freed]).toEqual(['img', 0])
  w.isQueueReadable = true
  await w.clock.advance(20_000)
  expect([w.mode, w.state('agent')]).toEqual(['llm', 'ready'])
})

it('pinned: the other group is told at once, whichever mode it is', async () => {
  const { w, arbiter } = await imageMode()
  const waiting = w.request(arbiter, 'agent', 1_000)
  await settle()
  await arbiter.pin(true)
  expect((await waiting).result).toBe('gpu.image_mode')
  expect(await w.request(arbiter, 'agent', 1_000)).toMatchObject({ result: 'gpu.image_mode', waitedMs: 0 })
  await w.clock.advance(300_000)
  expect(w.mode).toBe('img')
  expect((await failure(arbiter.switchover({ mode: 'llm', force: false }))).code).toBe('gpu.pinned')
  const forced = arbiter.switchover({ mode: 'llm', force: true })
  await w.clock.advance(20_000)
  await forced
  expect((await arbiter.status()).pinned).toBe(true)
  expect(await w.request(arbiter, 'img', 1_000)).toMatchObject({ result: 'gpu.inference_mode', waitedMs: 0 })
  await arbiter.pin(false)
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(40_000)
  expect((await image).result).toBe('done')
})

it.each(['draining', 'loading'] as const)(
  'pinned while images are %s: the language models keep the memory',
  async (when) => {
    const w = world()
    const arbiter = await w.open()
    const llm = w.request(arbiter, 'agent', when === 'draining' ? 10_000 : 100)
    const image = w.request(arbiter, 'img', 1_000)
    await w.clock.advance(2_000)
    expect(w.state('img')).toBe(when === 'draining' ? 'offline' : 'starting')
    await arbiter.pin(true)
    await w.clock.advance(20_000)
    expect([(await llm).result, (await image).result]).toEqual(['done', 'gpu.inference_mode'])
    expect(w.told.at(-1)).toBe('arbiter.rolled_back')
    expect([w.mode, w.state('agent')]).toEqual(['llm', 'ready'])
    expect(w.violations).toEqual([])
  },
)

it('pinned while the memory of images is freed: image mode stays', async () => {
  const { w, arbiter } = await imageMode()
  w.onFree = () => void arbiter.pin(true)
  await w.clock.advance(120_000)
  expect([w.mode, w.state('agent'), w.freed]).toEqual(['img', 'offline', 1])
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(2_000)
  expect((await image).result).toBe('done')
})

it('a ComfyUI that does not free its memory is stopped, and the language models come back', async () => {
  const { w, arbiter } = await imageMode()
  w.refusesFree = true
  const llm = w.request(arbiter, 'agent', 1_000)
  await w.clock.advance(60_000)
  expect((await llm).result).toBe('done')
  expect([w.state('img'), w.mode]).toEqual(['offline', 'llm'])
  expect(w.violations).toEqual([])
})

it('a language slot that does not come back is told of, and the others come', async () => {
  const { w } = await imageMode()
  w.failing.add('agent')
  await w.clock.advance(60_000)
  expect([w.state('agent'), w.state('coder')]).toEqual(['error', 'ready'])
  expect(w.told).toContain('arbiter.reload_failed')
})

it('the slot that a request waits for comes back first', async () => {
  const w = new ArbiterWorld()
    .add('agent', { priority: 90 })
    .add('coder', { priority: 1 })
    .add('img', { type: 'image', state: 'offline' })
  const { arbiter } = await imageMode(w)
  const llm = w.request(arbiter, 'coder', 1_000)
  w.loads.length = 0
  await w.clock.advance(60_000)
  expect((await llm).result).toBe('done')
  expect(w.loads[0]).toBe('coder')
  expect(w.state('agent')).toBe('ready')
})

it('a render that somebody begins in ComfyUI while its memory is freed keeps image mode', async () => {
  const { w, arbiter } = await imageMode()
  w.onFree = () => {
    w.ownRenders = 1
    w.onFree = undefined
  }
  const llm = w.request(arbiter, 'agent', 1_000)
  await w.clock.advance(20_000)
  expect([w.mode, w.state('agent'), w.told.at(-1)]).toEqual(['img', 'offline', 'arbiter.free_failed'])
  w.ownRenders = 0
  await w.clock.advance(20_000)
  expect((await llm).result).toBe('done')
})

it('a switch to images while slots come back forgets none of them', async () => {
  const { w, arbiter } = await imageMode()
  void arbiter.switchover({ mode: 'llm', force: false })
  await w.clock.advance(4_000)
  expect([w.mode, w.state('agent')]).toEqual(['llm', 'starting'])
  const back = arbiter.switchover({ mode: 'img', force: false })
  await w.clock.advance(20_000)
  await back
  expect((await arbiter.status()).saved_slots.toSorted()).toEqual(['agent', 'coder'])
  await w.clock.advance(60_000)
  expect([w.state('agent'), w.state('coder'), ...w.violations]).toEqual(['ready', 'ready'])
})

it('a pass says what is left of the wait, and a client that waits less is told sooner', async () => {
  const { w, arbiter } = await imageMode()
  const { signal } = new AbortController()
  w.ownRenders = 1
  const patient = arbiter.enter('agent', { signal })
  const hasty = failure(arbiter.enter('coder', { signal, maxWaitMs: 5_000 }))
  await w.clock.advance(4_999)
  expect((await arbiter.status()).waiting.llm).toBe(2)
  await w.clock.advance(1)
  expect((await hasty).code).toBe('gpu.image_mode')
  w.ownRenders = 0
  await w.clock.advance(5_000)
  const pass = await patient
  expect(pass.loadWaitMs).toBeLessThanOrEqual(115_000)
  expect(pass.loadWaitMs).toBeGreaterThan(105_000)
  pass.leave()
  pass.leave()
  expect((await arbiter.enter('agent', { signal })).loadWaitMs).toBeUndefined()
  await expect(arbiter.enter('agent', { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone')
})

it('who may start: the group that has the memory, nobody while it changes hands', async () => {
  const w = world()
  const arbiter = await w.open()
  const codes = () => ['agent', 'img', 'nope'].map((slot) => arbiter.refusal(slot)?.code)
  expect(codes()).toEqual([undefined, 'gpu.inference_mode', undefined])
  const running = w.request(arbiter, 'coder', 5_000)
  await settle()
  void w.request(arbiter, 'img', 1_000)
  await w.clock.advance(1_000)
  expect([...codes(), arbiter.refusal('coder')]).toEqual(['gpu.image_mode', 'gpu.inference_mode', undefined, undefined])
  await w.clock.advance(5_000)
  await running
  expect(w.state('img')).toBe('starting')
  expect(codes()).toEqual(['gpu.image_mode', undefined, undefined])
})

it('a person switches at once, with a pin; a switch to nothing is told so', async () => {
  const w = world()
  const arbiter = await w.open()
  const done = arbiter.switchover({ mode: 'img', force: false, pin: true })
  await w.clock.advance(10_000)
  await done
  expect(await arbiter.status()).toMatchObject({
    active: true,
    mode: 'img',
    pinned: true,
    image_slot: 'img',
    llm_slots: ['agent', 'coder'],
  })
  await w.clock.advance(100_000)
  expect(w.mode).toBe('img')
  const alone = await new ArbiterWorld().add('agent').open()
  expect((await failure(alone.switchover({ mode: 'img', force: true }))).code).toBe('gpu.img_slot_missing')
})

it('turns that begin while ComfyUI holds models: it is asked to let go, once', async () => {
  const w = world()
  w.setting = 'off'
  w.add('img', { ...w.slots.get('img'), state: 'ready' })
  const arbiter = await w.open()
  await w.clock.advance(1_000)
  w.imagesHeld = true
  w.setting = 'auto'
  arbiter.look()
  await w.clock.advance(1_000)
  arbiter.look()
  await w.clock.advance(1_000)
  expect([w.freed, w.mode]).toEqual([1, 'llm'])
})

it('turned off in image mode: everybody goes on, and what was unloaded comes back', async () => {
  const { w, arbiter } = await imageMode()
  const llm = w.request(arbiter, 'coder', 1_000)
  w.setting = 'off'
  arbiter.look()
  await w.clock.advance(20_000)
  expect((await llm).result).toBe('done')
  expect([w.state('agent'), w.mode]).toEqual(['ready', 'llm'])
})

it('slots that share no card with an image slot, of the CPU, and of lanes never wait', async () => {
  const w = world().add('cpu', { device: 'cpu' }).add('lane', { managed_by: 'lane' })
  const { arbiter } = await imageMode(w)
  for (const slot of ['cpu', 'lane']) {
    expect(arbiter.refusal(slot)).toBeUndefined()
    await arbiter.enter(slot, { signal: new AbortController().signal })
  }
  expect(w.state('lane')).toBe('ready')
})

it('closing answers everybody and leaves the interrupted switch for the next daemon', async () => {
  const w = world()
  const arbiter = await w.open()
  void w.request(arbiter, 'agent', 50_000)
  await settle()
  const image = w.request(arbiter, 'img', 1_000)
  await w.clock.advance(1_000)
  await arbiter.close()
  expect((await image).result).toBe('slot.unloading')
  expect(w.stored).toMatchObject({ state: { mode: 'llm', switching_to: 'img', saved_slots: ['agent', 'coder'] } })
  expect(w.state('coder')).toBe('idle')
})

import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { ComfyClient } from '../../src/arbiter/ports.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type ComfyEngine, createComfyClient } from '../../src/runners/comfy/comfy-client.ts'
import type { RenderEnd } from '../../src/runners/comfy/render.ts'
import { buildWorkflow } from '../../src/runners/comfy/rules/build-workflow.ts'
import { failure } from '../support/failure.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { type ComfyKnobs, type FakeComfy, startFakeComfy } from '../support/start-fake-comfy.ts'

const fakes: FakeComfy[] = []
afterEach(async () => {
  await Promise.all(fakes.splice(0).map((fake) => fake.stop()))
})

async function start(knobs: ComfyKnobs = {}): Promise<{ fake: FakeComfy; comfy: ComfyEngine }> {
  const fake = await startFakeComfy(knobs)
  fakes.push(fake)
  return { fake, comfy: createComfyClient({ origin: fake.origin, clock: systemClock, slot: 'img' }) }
}

const graph = (more: object = {}) =>
  buildWorkflow({
    checkpoint: 'fake-xl.safetensors',
    prompt: 'a fox',
    negative: '',
    width: 64,
    height: 128,
    steps: 4,
    cfg: 7,
    seed: 1,
    sampler: 'euler',
    batch: 1,
    ...more,
  })

interface Ending {
  readonly left: AbortController
  readonly cut: AbortController
  readonly signals: { readonly left: AbortSignal; readonly cut: AbortSignal }
}
function ending(): Ending {
  const left = new AbortController()
  const cut = new AbortController()
  return { left, cut, signals: { left: left.signal, cut: cut.signal } }
}

/** The error of a render that did not end with images. */
function errorOf(end: RenderEnd) {
  if (end.kind === 'images') throw new Error('it ended with images')
  return end.error
}

/** Width and height in the head of a PNG file. */
const sizeOf = (png: Buffer | undefined) => [png?.readUInt32BE(16), png?.readUInt32BE(20)]

describe('what the arbiter asks', () => {
  it('queue, stats and free', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    expect(await comfy.queue()).toEqual({ running: 0, pending: 0 })
    const { signals } = ending()
    const renders = [comfy.generate(graph(), signals), comfy.generate(graph(), signals)]
    await fake.waitFor('prompts', 2)
    await fake.waitFor('running', 1)
    const asArbiter: ComfyClient = comfy
    expect(await asArbiter.queue()).toEqual({ running: 1, pending: 1 })
    expect(await comfy.stats()).toMatchObject({ devices: [{ vram_total: 17163091968 }] })
    await comfy.free()
    expect((await fake.state()).free_bodies).toEqual([{ unload_models: true, free_memory: true }])
    await fake.setKnobs({ hold_render: false })
    expect((await Promise.all(renders)).map((end) => end.kind)).toEqual(['images', 'images'])
    expect(await comfy.queue()).toEqual({ running: 0, pending: 0 })
  })

  it.each([
    ['a refusal to free', { refuse_free: true }, 'free', 'answered POST /free with status 500'],
    ['a page for a queue', { garbage: '/queue' }, 'queue', 'answered GET /queue with something else than it should'],
    ['a page for figures', { garbage: '/system' }, 'stats', 'answered GET /system_stats with something else'],
    ['an error for a queue', { error_path: '/queue', error_status: 503 }, 'queue', 'GET /queue with status 503'],
  ] as const)('%s rejects, naming it', async (_name, knobs, method, message) => {
    const { comfy } = await start(knobs)
    const error = await failure(comfy[method]())
    expect(error).toMatchObject({ code: 'dispatch.upstream_unavailable', details: { slot: 'img' } })
    expect(error.message).toContain('The ComfyUI of slot "img" ')
    expect(error.message).toContain(message)
  })

  it('nobody there rejects', async () => {
    const { fake, comfy } = await start()
    await fake.stop()
    expect((await failure(comfy.queue())).message).toBe('The ComfyUI of slot "img" cannot be reached')
  })

  it('a mute one rejects after its time', async () => {
    const fake = await startFakeComfy({ hang: '/queue' })
    fakes.push(fake)
    const clock = new ManualClock()
    const asked = failure(createComfyClient({ origin: fake.origin, clock }).queue())
    await fake.waitFor('requests', 1)
    await clock.advance(9_999)
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(1)
    expect((await asked).message).toContain('did not answer GET /queue within 10000 ms')
    await settle()
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([
    ['old builds', false],
    ['new builds', true],
  ])('lists checkpoints of %s', async (_name, new_object_info) => {
    const { comfy } = await start({ new_object_info, checkpoints: ['a', 'x/b'] })
    expect(await comfy.checkpoints(ending().signals.cut)).toEqual({ names: ['a', 'x/b'] })
  })
})

describe('generate', () => {
  it('hands over the graph and brings each image, telling that ComfyUI lives', async () => {
    const fake = await startFakeComfy({ render_ms: 50 })
    fakes.push(fake)
    let heard = 0
    const onHeard = (): void => void heard++
    const comfy = createComfyClient({ origin: fake.origin, clock: systemClock, onHeard })
    const end = await comfy.generate(graph({ batch: 3 }), ending().signals)
    const images = end.kind === 'images' ? end.images : []
    expect(images.map(sizeOf)).toEqual([
      [64, 128],
      [64, 128],
      [64, 128],
    ])
    expect(images.map((png) => /a fox \d/.exec(png.toString('latin1'))?.[0])).toEqual(['a fox 1', 'a fox 2', 'a fox 3'])
    expect((await fake.state()).graphs).toEqual([graph({ batch: 3 })])
    expect(heard).toBeGreaterThanOrEqual(5)
  })

  it('takes what an old build says', async () => {
    const { comfy } = await start({ no_status: true })
    expect((await comfy.generate(graph(), ending().signals)).kind).toBe('images')
  })

  it.each([
    [
      'refused',
      'a checkpoint it does not have',
      {},
      { checkpoint: 'no.safetensors' },
      "refused the render: node 1 (CheckpointLoaderSimple): Value not in list: ckpt_name: 'no.safetensors' not in",
    ],
    [
      'refused',
      'a size it does not paint',
      {},
      { width: 8 },
      'node 4 (EmptyLatentImage): Value 8 smaller than min of 16: width',
    ],
    [
      'failed',
      'no memory',
      { fail_node: '5' },
      {},
      'failed to render in node 5 (KSampler): torch.OutOfMemoryError: HIP out of memory',
    ],
    ['failed', 'no image', { no_images: true }, {}, 'failed to render: it ended without an image'],
    ['lost', 'it forgets the render', { forget: true }, {}, 'has forgotten the render'],
    ['lost', 'a page instead of a file', { garbage: '/view' }, {}, 'something that is no PNG'],
    ['lost', 'no file', { error_path: '/view', error_status: 404 }, {}, 'status 404'],
    [
      'lost',
      'a page for an id',
      { garbage: '/prompt' },
      {},
      'answered POST /prompt with status 200 and something else than it should',
    ],
    [
      'lost',
      'an error for an id',
      { error_path: '/prompt', error_status: 500 },
      {},
      'answered POST /prompt with status 500',
    ],
    ['lost', 'it dies mid-render', { die_mid_render: true }, {}, ''],
  ] as const)('%s: %s', async (kind, _name, knobs, more, message) => {
    const { comfy } = await start(knobs)
    const end = await comfy.generate(graph(more), ending().signals)
    expect(end.kind).toBe(kind)
    const error = errorOf(end)
    expect(error).toMatchObject({ code: 'dispatch.upstream_unavailable', status: 502, details: { slot: 'img' } })
    expect(error.message).toContain(message)
  })

  it('details name the nodes for machines', async () => {
    const { comfy } = await start()
    const error = errorOf(await comfy.generate(graph({ steps: 0 }), ending().signals))
    const said = { node: '5', class: 'KSampler', errors: ['Value 0 smaller than min of 1: steps'] }
    expect(error.details).toMatchObject({ nodes: [said] })
  })

  it('somebody interrupts it in ComfyUI', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    const work = comfy.generate(graph(), ending().signals)
    await fake.waitFor('running', 1)
    await fetch(`${fake.origin}/interrupt`, { method: 'POST' })
    expect(errorOf(await work).message).toContain('somebody interrupted it in ComfyUI')
  })

  it('nobody listens: nothing was sent', async () => {
    const { fake, comfy } = await start()
    await fake.stop()
    expect((await comfy.generate(graph(), ending().signals)).kind).toBe('unread')
  })

  it('takes garbage in between for a hiccup', async () => {
    const { fake, comfy } = await start({ hold_render: true, garbage: '/history' })
    const work = comfy.generate(graph(), ending().signals)
    await fake.waitFor('requests', 3)
    await fake.setKnobs({ hold_render: false, garbage: null })
    expect((await work).kind).toBe('images')
  })

  it('gives up one that says nothing to the point for two minutes', async () => {
    const fake = await startFakeComfy({ hold_render: true, garbage: '/history' })
    fakes.push(fake)
    const clock = new ManualClock()
    const work = createComfyClient({ origin: fake.origin, clock }).generate(graph(), ending().signals)
    let end: RenderEnd | undefined
    void work.then((value) => {
      end = value
    })
    let looks = 1
    while (end === undefined) {
      // Each look is one request; time goes on only between them, so that none of them times out.
      await fake.waitFor('requests', ++looks)
      while (end === undefined && (clock.nextTimerInMs ?? 10_000) > 2_000) await settle()
      await clock.advance(2_000)
      expect(looks).toBeLessThan(100)
    }
    expect(errorOf(end).message).toContain('has said nothing of the render for 120 s')
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(120_000)
  })
})

describe('the client leaves', () => {
  const gone = new Error('gone')

  it('before it was handed over: nothing is sent', async () => {
    const { fake, comfy } = await start()
    const { left, signals } = ending()
    left.abort(gone)
    await expect(comfy.generate(graph(), signals)).rejects.toBe(gone)
    expect((await fake.state()).counters.requests).toBe(0)
  })

  it('in the queue: it is taken out, the other one is untouched', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    const first = comfy.generate(graph(), ending().signals)
    await fake.waitFor('running', 1)
    const { left, signals } = ending()
    const second = comfy.generate(graph({ prompt: 'a hare' }), signals)
    await fake.waitFor('pending', 1)
    left.abort(gone)
    await expect(second).rejects.toBe(gone)
    expect((await fake.state()).counters).toMatchObject({ deleted: 1, pending: 0, running: 1, interrupts: 0 })
    await fake.setKnobs({ hold_render: false })
    expect((await first).kind).toBe('images')
    expect((await fake.state()).counters).toMatchObject({ renders: 1, views: 1 })
  })

  it('while it renders: it is followed to its end, and the result dropped', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    const { left, signals } = ending()
    const work = comfy.generate(graph(), signals)
    let isOver = false
    const over = work.catch((reason: unknown) => {
      isOver = true
      return reason
    })
    const { counters } = await fake.waitFor('running', 1)
    left.abort(gone)
    await fake.waitFor('requests', counters.requests + 4)
    expect(isOver).toBe(false)
    await fake.setKnobs({ hold_render: false })
    expect(await over).toBe(gone)
    expect((await fake.state()).counters).toMatchObject({ renders: 1, interrupts: 0, deleted: 0, views: 0 })
  })
})

describe('cut', () => {
  const reason = new Error('the slot stops')

  it('while it renders: at once, and ComfyUI goes on', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    const { cut, signals } = ending()
    const work = comfy.generate(graph(), signals)
    await fake.waitFor('running', 1)
    cut.abort(reason)
    await expect(work).rejects.toBe(reason)
    expect((await fake.state()).counters).toMatchObject({ running: 1, interrupts: 0 })
  })

  it('in the queue: at once, and it is taken out', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    const first = ending()
    const running = comfy.generate(graph(), first.signals)
    await fake.waitFor('running', 1)
    const { cut, signals } = ending()
    const work = comfy.generate(graph(), signals)
    const { counters } = await fake.waitFor('pending', 1)
    // The id is known by then, and the render looked at.
    await fake.waitFor('requests', counters.requests + 8)
    cut.abort(reason)
    await expect(work).rejects.toBe(reason)
    await fake.waitFor('deleted', 1)
    await fake.setKnobs({ hold_render: false })
    expect((await running).kind).toBe('images')
  })

  it('while the graph is being taken: at once, and it is taken out', async () => {
    const { fake, comfy } = await start({ hold_render: true })
    const first = ending()
    const running = comfy.generate(graph(), first.signals)
    await fake.waitFor('running', 1)
    await fake.setKnobs({ submit_ms: 300 })
    const { cut, signals } = ending()
    const work = comfy.generate(graph(), signals)
    await fake.waitFor('pending', 1)
    cut.abort(reason)
    await expect(work).rejects.toBe(reason)
    await fake.waitFor('deleted', 1)
    await fake.setKnobs({ hold_render: false })
    expect((await running).kind).toBe('images')
  })

  it('while it is mute', async () => {
    const { fake, comfy } = await start({ hang: '/prompt' })
    const { cut, signals } = ending()
    const work = comfy.generate(graph(), signals)
    await fake.waitFor('requests', 1)
    cut.abort(reason)
    await expect(work).rejects.toBe(reason)
  })
})

it('a port that answers in another language is lost, not a crash', async () => {
  const server = createServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('SSH-2.0-Fake_1.0\r\n'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const comfy = createComfyClient({ origin: `http://127.0.0.1:${port}`, clock: systemClock })
  expect((await comfy.generate(graph(), ending().signals)).kind).toBe('lost')
  expect((await failure(comfy.stats())).message).toContain('closed the connection without a proper answer')
  await new Promise((resolve) => server.close(resolve))
})

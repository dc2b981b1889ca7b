import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { arbiterStateSchema } from '../../src/contract/arbiter.ts'
import { arbiterStatePath } from '../../src/files/home.ts'
import { eventually } from '../support/daemon-harness.ts'
import {
  comfySpans,
  cpuSlot,
  imageSlot,
  llmSlot,
  npuSlot,
  overlaps,
  slotSpans,
  startGpuDaemon,
} from '../support/gpu-daemon.ts'
import { parseMetrics } from '../support/parse-metrics.ts'

/** The same numbers in every run: mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const errorOf = async (response: Response): Promise<Record<string, unknown>> =>
  ((await response.json()) as { error: Record<string, unknown> }).error

it('200 mixed requests: no render is cut, no request is lost, and the memory is never held twice', async () => {
  const llm = llmSlot({ tokens_per_second: 100 })
  const hal0 = await startGpuDaemon({ a: llm, b: llm, c: cpuSlot, img: imageSlot({ render_ms: 60 }) })
  const cpuPid = (await hal0.daemon.slots.load('c')).pid
  const random = randomOf(7)
  const chat = { ignore_eos: true, max_tokens: 20 }
  const ask = async (): Promise<string> => {
    const pick = random()
    const leaves = random() < 0.15
    const leaving = new AbortController()
    // Somewhere between at once and after its answer.
    if (leaves) void pause(Math.floor(random() * 600)).then(() => leaving.abort())
    const init = { signal: leaving.signal }
    const target = pick < 0.4 ? 'a' : pick < 0.55 ? 'b' : pick < 0.65 ? 'c' : 'img'
    try {
      const response = target === 'img' ? await hal0.paint({}, init) : await hal0.chat(target, chat, init)
      if (response.status !== 200)
        return `${target}: ${response.status} ${JSON.stringify((await errorOf(response))['message'])}`
      await response.arrayBuffer()
      return 'served'
    } catch (cause) {
      return leaves ? 'left' : `${target}: ${String(cause)}`
    }
  }
  const outcomes: string[] = []
  // In two rounds: also where the machine is so slow that all of a round arrive before the first switch, there are two.
  for (let round = 0; round < 2; round++) {
    const asked: Promise<string>[] = []
    for (let n = 0; n < 100; n++) {
      asked.push(ask())
      await pause(Math.floor(random() * 50))
    }
    outcomes.push(...(await Promise.all(asked)))
    // Nobody asks any more: the memory goes back, and what was unloaded comes back.
    await eventually(async () => {
      const { mode, switching_to, saved_slots } = await hal0.status()
      return mode === 'llm' && switching_to === null && saved_slots.length === 0
    })
  }
  expect([...new Set(outcomes)].toSorted().filter((one) => one !== 'served' && one !== 'left')).toEqual([])
  expect(outcomes).toContain('left')
  expect([hal0.daemon.slots.row('a')?.state, hal0.daemon.slots.row('b')?.state]).toEqual(['ready', 'ready'])
  await eventually(async () => {
    const state = arbiterStateSchema.parse(JSON.parse(await readFile(arbiterStatePath(hal0.home), 'utf8')))
    return state.mode === 'llm' && state.switching_to === null && state.saved_slots.length === 0
  })

  const comfy = await (await hal0.comfy()).state()
  const { prompts, renders, deleted, interrupts, running, pending } = comfy.counters
  expect([interrupts, running, pending, renders + deleted]).toEqual([0, 0, 0, prompts])
  expect(comfy.memory_log.filter(({ holds, renders: isRendering }) => !holds && isRendering)).toEqual([])
  const held = comfySpans(comfy.memory_log)
  expect(held.at(-1)?.endMs).not.toBe(Number.POSITIVE_INFINITY)
  const languages = [...slotSpans('a', hal0.seen), ...slotSpans('b', hal0.seen)]
  expect(languages.length).toBeGreaterThan(2)
  expect(overlaps(languages, held)).toEqual([])
  expect(held.length).toBeGreaterThanOrEqual(2)
  // One ComfyUI and one engine on the CPU from the first to the last.
  expect([hal0.daemon.slots.row('img')?.pid, hal0.daemon.slots.row('c')?.pid]).toEqual([comfy.pid, cpuPid])
  expect(prompts).toBeGreaterThan(outcomes.length / 5)

  const turns = hal0.seen.filter(({ type }) => type === 'arbiter.switched').map(({ data }) => data['to'])
  expect(turns).toEqual(turns.map((_, at) => (at % 2 === 0 ? 'img' : 'llm')))
  expect(turns.length).toBeGreaterThanOrEqual(held.length * 2)
  const metrics = parseMetrics(await (await hal0.call('GET', '/metrics')).text())
  const evictions = metrics.get('hal0_evictions_total')?.samples.find(({ labels }) => labels['reason'] === 'arbiter')
  expect(evictions?.value).toBe(hal0.seen.filter(({ type }) => type === 'slot.evicted').length)
  expect(evictions?.value).toBeGreaterThan(0)
})

describe('by hand', () => {
  it('switches, pins and tells; CPU and NPU go on; a render is waited for', async () => {
    const hal0 = await startGpuDaemon({
      a: llmSlot({}, { pinned: true }),
      c: cpuSlot,
      flm: npuSlot(),
      img: imageSlot(),
    })
    for (const slot of ['a', 'c', 'flm']) expect((await hal0.chat(slot)).status).toBe(200)
    expect(await hal0.status()).toMatchObject({
      active: true,
      mode: 'llm',
      switching_to: null,
      pinned: false,
      image_slot: 'img',
      llm_slots: ['a'],
      saved_slots: [],
      queue: null,
      system_stats: null,
    })
    const untouched = async () => (await hal0.rows()).filter(({ name }) => ['c', 'flm'].includes(name))
    const pids = (await untouched()).map(({ pid }) => pid)

    const switched = await hal0.switchover('img', { pin: true })
    expect(switched.status).toBe(200)
    expect(await switched.json()).toMatchObject({
      mode: 'img',
      pinned: true,
      saved_slots: ['a'],
      queue: { running: 0, pending: 0 },
      system_stats: { devices: [{ name: 'cuda:0 Fake GPU' }] },
    })
    expect(await hal0.row('a')).toMatchObject({ state: 'offline', pinned: true, managed_by: 'arbiter' })
    expect((await untouched()).map(({ pid }) => pid)).toEqual(pids)
    for (const slot of ['c', 'flm']) expect((await hal0.chat(slot)).status).toBe(200)

    const refused = await hal0.chat('a')
    expect([refused.status, Number(refused.headers.get('retry-after')) >= 1]).toEqual([503, true])
    expect(await errorOf(refused)).toMatchObject({ code: 'gpu.image_mode' })
    const load = await hal0.call('POST', '/api/slots/a/load')
    expect([load.status, await errorOf(load)]).toMatchObject([503, { code: 'gpu.image_mode' }])
    const unforced = await hal0.switchover('llm')
    expect([unforced.status, await errorOf(unforced)]).toMatchObject([409, { code: 'gpu.pinned' }])

    const comfy = await hal0.comfy()
    await comfy.setKnobs({ hold_render: true })
    const painted = hal0.paint()
    await comfy.waitFor('running', 1)
    expect(await hal0.status()).toMatchObject({ rendering: 1, queue: { running: 1, pending: 0 } })
    let isOver = false
    const back = hal0.switchover('llm', { force: true, pin: false }).finally(() => {
      isOver = true
    })
    await eventually(async () => (await comfy.state()).counters.requests > 12)
    expect([isOver, (await hal0.status()).mode]).toEqual([false, 'img'])
    await comfy.setKnobs({ hold_render: false })
    expect((await painted).status).toBe(200)
    expect(await (await back).json()).toMatchObject({ mode: 'llm', pinned: false })
    expect((await hal0.chat('a')).status).toBe(200)
    expect((await comfy.state()).counters).toMatchObject({ interrupts: 0, renders: 1, frees: 1 })

    await hal0.pin(true)
    const noImage = await hal0.paint()
    expect([noImage.status, await errorOf(noImage)]).toMatchObject([503, { code: 'gpu.inference_mode' }])
    await hal0.pin(false)
    expect((await hal0.paint()).status).toBe(200)
    expect((await untouched()).map(({ pid }) => pid)).toEqual(pids)
    const told = hal0.seen.filter(({ source }) => source === 'arbiter').map(({ type }) => type)
    expect(told.slice(0, 7)).toEqual([
      'arbiter.switching',
      'arbiter.switched',
      'arbiter.pinned',
      'arbiter.switching',
      'arbiter.switched',
      'arbiter.pinned',
      'arbiter.pinned',
    ])
    expect(hal0.seen.find(({ type }) => type === 'arbiter.switched')?.data).toMatchObject({
      from: 'llm',
      to: 'img',
      drain_ms: expect.any(Number),
      load_ms: expect.any(Number),
      saved_slots: ['a'],
    })
  })

  it('a stream runs to its end before its model goes; who leaves meanwhile ends the switch', async () => {
    const hal0 = await startGpuDaemon({ a: llmSlot({ tokens_per_second: 20 }), img: imageSlot() })
    const stream = await hal0.chat('a', { stream: true, ignore_eos: true, max_tokens: 40 })
    const text = stream.text()
    const leaving = new AbortController()
    const gone = hal0.paint({}, { signal: leaving.signal }).catch(() => 'left')
    await eventually(async () => (await hal0.status()).switching_to === 'img')
    leaving.abort()
    expect(await gone).toBe('left')
    await eventually(() => hal0.seen.some(({ type }) => type === 'arbiter.rolled_back'))
    const painted = hal0.paint()
    await eventually(async () => (await hal0.status()).switching_to === 'img')
    expect(await text).toContain('[DONE]')
    expect((await painted).status).toBe(200)
  })
})

describe('an image slot that is no use', () => {
  it.each([
    ['has no model', { model: { default: '' } }, 'slot.not_ready'],
    ['names a profile that is gone', { profile: 'gone' }, 'gpu.img_not_ready'],
  ])('%s: said at once, and no language model goes for it', async (_name, keys, code) => {
    const hal0 = await startGpuDaemon({ a: llmSlot(), img: imageSlot({}, keys) })
    expect((await hal0.chat('a')).status).toBe(200)
    const { pid } = await hal0.row('a')
    expect(await errorOf(await hal0.paint())).toMatchObject({ code })
    expect(await errorOf(await hal0.switchover('img'))).toMatchObject({ code })
    expect(await hal0.row('a')).toMatchObject({ state: 'ready', pid })
    expect(hal0.seen.filter(({ type }) => type === 'arbiter.switching')).toEqual([])
  })

  it('dies as it starts: the language models come back, and the next image hears at once that it rests', async () => {
    const hal0 = await startGpuDaemon({ a: llmSlot(), img: imageSlot({ no_such_knob: true }) })
    expect((await hal0.chat('a')).status).toBe(200)
    const first = await hal0.paint()
    expect([first.status, await errorOf(first)]).toMatchObject([503, { code: 'gpu.img_not_ready' }])
    expect((await hal0.chat('a')).status).toBe(200)
    const { pid } = await hal0.row('a')
    const second = await hal0.paint()
    expect([second.status, await errorOf(second)]).toMatchObject([503, { code: 'gpu.img_not_ready' }])
    expect(await hal0.row('a')).toMatchObject({ pid, state: 'ready' })
  })

  it('dies while it renders: that image fails, the next one is painted', async () => {
    const hal0 = await startGpuDaemon({ a: llmSlot(), img: imageSlot() })
    expect((await hal0.paint()).status).toBe(200)
    await (await hal0.comfy()).setKnobs({ die_mid_render: true })
    expect((await hal0.paint()).status).toBe(502)
    // The breaker lets it rest; language models do not wait for that.
    expect((await hal0.chat('a')).status).toBe(200)
    expect((await hal0.call('POST', '/api/slots/img/load')).status).not.toBe(500)
  })

  it('does not free its memory: it is stopped, as nothing renders', async () => {
    const hal0 = await startGpuDaemon({ a: llmSlot(), img: imageSlot({ refuse_free: true }) })
    expect((await hal0.chat('a')).status).toBe(200)
    expect((await hal0.paint()).status).toBe(200)
    expect((await hal0.chat('a')).status).toBe(200)
    expect(slotSpans('img', hal0.seen)[0]?.endMs).not.toBe(Number.POSITIVE_INFINITY)
    expect(overlaps(slotSpans('img', hal0.seen), slotSpans('a', hal0.seen).slice(1))).toEqual([])
    expect((await hal0.row('img')).state).toBe('offline')
    expect((await hal0.paint()).status).toBe(200)
  })

  it('hides its queue: a render may run, so language requests hear of image mode at once', async () => {
    const hal0 = await startGpuDaemon({ a: llmSlot(), img: imageSlot() })
    expect((await hal0.paint()).status).toBe(200)
    const comfy = await hal0.comfy()
    await comfy.setKnobs({ error_path: '/queue' })
    const refused = await hal0.chat('a')
    expect([refused.status, await errorOf(refused)]).toMatchObject([503, { code: 'gpu.image_mode' }])
    await comfy.setKnobs({ error_path: null })
    await eventually(async () => (await hal0.chat('a')).status === 200)
    expect((await comfy.state()).counters.interrupts).toBe(0)
  })
})

describe('who takes turns', () => {
  it.each<[string, 'auto' | 'on' | 'off', number | undefined, number | undefined, boolean]>([
    ['auto, one card', 'auto', 0, 0, true],
    ['auto, any card', 'auto', undefined, 0, true],
    ['auto, a card each', 'auto', 0, 1, false],
    ['on, a card each', 'on', 0, 1, true],
    ['off, one card', 'off', 0, 0, false],
  ])('%s', async (_name, arbiter, llmIndex, imageIndex, takesTurns) => {
    const indexed = (index: number | undefined) => (index === undefined ? {} : { gpu_index: index })
    const hal0 = await startGpuDaemon(
      { a: llmSlot({}, indexed(llmIndex)), img: imageSlot({}, indexed(imageIndex)) },
      { settings: { slots: { arbiter } } },
    )
    expect((await hal0.chat('a')).status).toBe(200)
    expect((await hal0.paint()).status).toBe(200)
    expect((await hal0.status()).active).toBe(takesTurns)
    expect((await hal0.chat('a')).status).toBe(200)
    const comfy = await (await hal0.comfy()).state()
    expect(overlaps(slotSpans('a', hal0.seen), comfySpans(comfy.memory_log)).length > 0).toBe(!takesTurns)
    if (takesTurns) return
    const switched = await hal0.switchover('img')
    expect(switched.status).toBeGreaterThanOrEqual(400)
  })

  it('a slot that is made while images have the memory makes way as well', async () => {
    const hal0 = await startGpuDaemon({ img: imageSlot() })
    expect((await hal0.paint()).status).toBe(200)
    expect((await hal0.status()).active).toBe(false)
    const made = await hal0.call('POST', '/api/slots', { name: 'a', ...llmSlot() })
    expect(made.status).toBeLessThan(300)
    expect((await hal0.chat('a')).status).toBe(200)
    expect((await hal0.paint()).status).toBe(200)
    expect((await hal0.chat('a')).status).toBe(200)
    const comfy = await (await hal0.comfy()).state()
    const laterSpans = comfySpans(comfy.memory_log).slice(1)
    expect(overlaps(slotSpans('a', hal0.seen).slice(1), laterSpans)).toEqual([])
  })
})

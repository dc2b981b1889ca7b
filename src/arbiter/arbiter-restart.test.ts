import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ArbiterWorld } from '../../test/support/arbiter-world.ts'
import { createStateFile } from './state-file.ts'

function world(): ArbiterWorld {
  return new ArbiterWorld().add('agent').add('coder').add('img', { type: 'image', state: 'offline' })
}

/** Every 250 ms of the way there and back: draining, stopping, loading, image mode, freeing, reloading. */
const CRASHES = Array.from({ length: 208 }, (_, nth) => nth * 250)

it('a daemon that dies at any moment of a switch, and back: the next one ends in peace', async () => {
  const steps = new Set<string>()
  for (const atMs of CRASHES) {
    const w = world()
    const first = await w.open()
    void w.request(first, 'agent', 2_000)
    void w.request(first, 'img', 3_000)
    await w.clock.advance(atMs)
    const status = await first.status()
    steps.add(`${status.mode} ${status.switching_to} ${status.saved_slots.length}`)
    w.crash()
    // Engines and requests of ComfyUI go on while no daemon runs.
    await w.clock.advance(100)
    const second = await w.open()
    await w.clock.advance(120_000)
    expect([atMs, ...w.violations]).toEqual([atMs])
    expect(await second.status(), `crash at ${atMs} ms`).toMatchObject({
      mode: 'llm',
      switching_to: null,
      saved_slots: [],
    })
    expect([w.state('agent'), w.state('coder')], `crash at ${atMs} ms`).toEqual(['ready', 'ready'])
    const image = w.request(second, 'img', 1_000)
    await w.clock.advance(60_000)
    expect((await image).result, `crash at ${atMs} ms`).toBe('done')
    await second.close()
  }
  // The table met every step.
  expect([...steps].toSorted()).toEqual(['img null 2', 'llm img 2', 'llm null 0', 'llm null 1', 'llm null 2'])
}, 120_000)

it('a crash right after the target was written, and at the write of every later state', async () => {
  for (let nth = 1; nth <= 6; nth++) {
    const w = world()
    let writes = 0
    w.onWrite(() => {
      if (++writes === nth) queueMicrotask(() => w.crash())
    })
    const first = await w.open()
    void w.request(first, 'img', 1_000)
    await w.clock.advance(60_000)
    const second = await w.open()
    await w.clock.advance(60_000)
    expect(await second.status(), `write ${nth}`).toMatchObject({ mode: 'llm', switching_to: null, saved_slots: [] })
    expect([w.state('agent'), w.state('coder'), ...w.violations], `write ${nth}`).toEqual(['ready', 'ready'])
  }
})

it('a pin outlives the daemon with its mode, not without it', async () => {
  const pinned = { switching_to: null, pinned: true, since_ms: 0, saved_slots: ['agent'] }
  for (const [state, expected] of [
    ['ready', { mode: 'img', pinned: true, saved_slots: ['agent', 'coder'] }],
    ['offline', { mode: 'llm', pinned: false, saved_slots: [] }],
  ] as const) {
    const w = world()
    Object.assign(w.slots.get('agent') ?? {}, { state: 'offline' })
    Object.assign(w.slots.get('img') ?? {}, { state })
    w.stored = { kind: 'found', state: { ...pinned, mode: 'img' } }
    const arbiter = await w.open()
    await w.clock.advance(20_000)
    expect(await arbiter.status()).toMatchObject(expected)
    // A language slot that was found beside image mode made way.
    expect(w.state('coder')).toBe(state === 'ready' ? 'offline' : 'ready')
  }
})

it('a state that cannot be used is reset, and everybody is told', async () => {
  const w = world()
  w.stored = { kind: 'unfit', reason: 'not JSON', keptAs: '/x/gpu_arbiter.json.bad' }
  const arbiter = await w.open()
  expect(await arbiter.status()).toMatchObject({ mode: 'llm', saved_slots: [] })
  expect(w.events[0]).toMatchObject({ type: 'arbiter.state_reset', severity: 'warning' })
})

it.each([
  ['no JSON', '{"mode": "im'],
  [
    'another version',
    '{"version": 2, "mode": "llm", "switching_to": null, "pinned": false, "since_ms": 1, "saved_slots": []}',
  ],
  ['another shape', '{"mode": "video"}'],
])('a file with %s is put aside', async (_, text) => {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-arbiter-'))
  try {
    const path = join(folder, 'gpu_arbiter.json')
    const file = createStateFile(path)
    expect(await file.read()).toEqual({ kind: 'none' })
    const state = { mode: 'img', switching_to: 'llm', pinned: true, since_ms: 7, saved_slots: ['a'] } as const
    await file.write({ ...state, saved_slots: ['a'] })
    expect(await file.read()).toEqual({ kind: 'found', state })
    await writeFile(path, text)
    expect(await file.read()).toMatchObject({ kind: 'unfit', keptAs: `${path}.bad` })
    expect(await readFile(`${path}.bad`, 'utf8')).toBe(text)
    expect(await file.read()).toEqual({ kind: 'none' })
  } finally {
    await rm(folder, { recursive: true })
  }
})

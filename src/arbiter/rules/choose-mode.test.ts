import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chooseMode, type ModeSnapshot } from './choose-mode.ts'

const NOW = 1_000_000
const LLM: ModeSnapshot = {
  mode: 'llm',
  keptUntilMs: 0,
  pinned: false,
  wish: undefined,
  waiting: { llm: 0, img: 0 },
  rendering: 0,
  queue: { kind: 'read', atMs: NOW, renders: 0 },
  lastImageMs: 0,
  retryMs: 0,
}
const IMG: ModeSnapshot = { ...LLM, mode: 'img' }
const forImg = { llm: 0, img: 1 }
const forLlm = { llm: 1, img: 0 }
const read = (renders: number, ageMs = 0) => ({ kind: 'read' as const, atMs: NOW - ageMs, renders })

it.each<[string, ModeSnapshot, string, number | undefined, string | undefined]>([
  ['nobody waits', LLM, 'stay', undefined, undefined],
  ['an image waits', { ...LLM, waiting: forImg }, 'switch', undefined, undefined],
  ['… 1 ms before the keep ends', { ...LLM, waiting: forImg, keptUntilMs: NOW + 1 }, 'stay', NOW + 1, undefined],
  ['… as it ends', { ...LLM, waiting: forImg, keptUntilMs: NOW }, 'switch', undefined, undefined],
  ['… while pinned', { ...LLM, waiting: forImg, pinned: true }, 'stay', undefined, 'pinned'],
  [
    'a person, while kept and pinned',
    { ...LLM, wish: 'img', pinned: true, keptUntilMs: NOW + 9 },
    'switch',
    undefined,
    undefined,
  ],

  ['img: pinned, nobody waits', { ...IMG, pinned: true }, 'stay', undefined, undefined],
  ['img: pinned, llm waits', { ...IMG, pinned: true, waiting: forLlm }, 'stay', undefined, 'pinned'],
  [
    'img: a request runs, nobody waits',
    { ...IMG, rendering: 1, queue: { kind: 'unread' } },
    'stay',
    undefined,
    undefined,
  ],
  ['img: unread', { ...IMG, queue: { kind: 'unread' } }, 'read_queue', undefined, undefined],
  ['img: read 999 ms ago', { ...IMG, queue: read(0, 999) }, 'switch', undefined, undefined],
  ['img: read 1000 ms ago', { ...IMG, queue: read(0, 1_000) }, 'read_queue', undefined, undefined],
  [
    'img: llm waits, a request runs, unread',
    { ...IMG, waiting: forLlm, rendering: 1, queue: { kind: 'unread' } },
    'read_queue',
    undefined,
    undefined,
  ],
  ['img: llm waits, a request runs', { ...IMG, waiting: forLlm, rendering: 1 }, 'stay', NOW + 2_000, undefined],
  ['img: llm waits, ComfyUI renders', { ...IMG, waiting: forLlm, queue: read(1) }, 'stay', NOW + 2_000, undefined],
  [
    'img: llm waits, unreadable',
    { ...IMG, waiting: forLlm, queue: { kind: 'unreadable', atMs: NOW } },
    'stay',
    NOW + 2_000,
    'queue_unreadable',
  ],
  [
    'img: nobody waits, unreadable',
    { ...IMG, queue: { kind: 'unreadable', atMs: NOW } },
    'stay',
    NOW + 2_000,
    undefined,
  ],
  [
    'img: a person waits, unreadable',
    { ...IMG, wish: 'llm', queue: { kind: 'unreadable', atMs: NOW } },
    'stay',
    NOW + 2_000,
    'queue_unreadable',
  ],
  ['img: llm waits, nothing renders', { ...IMG, waiting: forLlm, lastImageMs: NOW }, 'switch', undefined, undefined],
  ['img: … 1 ms before the keep ends', { ...IMG, waiting: forLlm, keptUntilMs: NOW + 1 }, 'stay', NOW + 1, undefined],
  [
    'img: a person, while kept and pinned',
    { ...IMG, wish: 'llm', pinned: true, keptUntilMs: NOW + 9 },
    'switch',
    undefined,
    undefined,
  ],
  ['img: a person, while ComfyUI renders', { ...IMG, wish: 'llm', queue: read(2) }, 'stay', NOW + 2_000, undefined],
  ['img: the image slot is off', { ...IMG, queue: { kind: 'off' } }, 'switch', undefined, undefined],
  ['img: quiet for 9999 ms', { ...IMG, lastImageMs: NOW - 9_999 }, 'stay', NOW + 1, undefined],
  ['img: quiet for 10 s', { ...IMG, lastImageMs: NOW - 10_000 }, 'switch', undefined, undefined],
  ['img: freeing has just failed', { ...IMG, waiting: forLlm, retryMs: NOW + 1 }, 'stay', NOW + 1, undefined],
])('%s', (_, snapshot, action, reviewAtMs, refuse) => {
  expect(chooseMode(snapshot, NOW)).toMatchObject({ action, reviewAtMs, refuse })
})

const snapshots = fc.record<ModeSnapshot>({
  mode: fc.constantFrom('llm', 'img'),
  keptUntilMs: fc.integer({ min: NOW - 40_000, max: NOW + 40_000 }),
  pinned: fc.boolean(),
  wish: fc.constantFrom(undefined, 'llm', 'img'),
  waiting: fc.record({ llm: fc.nat(2), img: fc.nat(2) }),
  rendering: fc.nat(1),
  queue: fc.oneof(
    fc.constantFrom({ kind: 'off' as const }, { kind: 'unread' as const }),
    fc.record({ kind: fc.constant('unreadable' as const), atMs: fc.integer({ min: NOW - 3_000, max: NOW }) }),
    fc.record({
      kind: fc.constant('read' as const),
      atMs: fc.integer({ min: NOW - 3_000, max: NOW }),
      renders: fc.nat(1),
    }),
  ),
  lastImageMs: fc.integer({ min: NOW - 20_000, max: NOW }),
  retryMs: fc.integer({ min: NOW - 5_000, max: NOW + 5_000 }),
})

it('a switch never cuts a render, never comes too early, and a pin holds', () => {
  fc.assert(
    fc.property(snapshots, (snapshot) => {
      const { action, reviewAtMs } = chooseMode(snapshot, NOW)
      if (reviewAtMs !== undefined) expect(reviewAtMs).toBeGreaterThan(NOW)
      if (action !== 'switch') return
      const isAsked = snapshot.wish !== undefined && snapshot.wish !== snapshot.mode
      if (!isAsked) expect([snapshot.pinned, snapshot.keptUntilMs <= NOW]).toEqual([false, true])
      if (snapshot.mode === 'llm') return
      expect(snapshot.rendering).toBe(0)
      expect(['off', 'read']).toContain(snapshot.queue.kind)
      if (snapshot.queue.kind === 'read') expect(snapshot.queue.renders).toBe(0)
    }),
  )
})

it('the time of the next look is honest: until then, time alone changes nothing', () => {
  fc.assert(
    fc.property(snapshots, fc.nat(40_000), (snapshot, laterMs) => {
      const { action, reviewAtMs } = chooseMode(snapshot, NOW)
      if (action !== 'stay') return
      const atMs = NOW + laterMs
      if (reviewAtMs !== undefined && atMs >= reviewAtMs) return
      // A reading grows old by itself; whoever acts on one reads afresh.
      expect(['stay', 'read_queue']).toContain(chooseMode(snapshot, atMs).action)
    }),
  )
})

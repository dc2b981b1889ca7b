import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'

/** Waits for what the slot says of itself; order is checked with the engine's own log. */
const quiet = (at: TestDaemon) => eventually(() => at.row('a').state === 'ready' && at.row('a').in_flight === 0)

describe('a client that leaves', () => {
  it('while queued: never reaches the engine, its place is free, the other is untouched', async () => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: 1, hold_after_tokens: 2 } } })
    const engine = await at.load('a')
    const stream = await at.chat({ stream: true })
    const leaving = new AbortController()
    const queued = at.chat({}, { signal: leaving.signal }).catch(() => 'left')
    await eventually(() => at.row('a').queued === 1)
    leaving.abort()
    expect(await queued).toBe('left')
    await eventually(() => at.row('a').queued === 0)
    await engine.setKnobs({ hold_after_tokens: null })
    expect(await stream.text()).toContain('[DONE]')
    await quiet(at)
    expect((await engine.state()).counters).toMatchObject({ inference: 1, aborts: 0 })
  })

  it.each([
    ['before the first byte', { hold_first: true }, 'before_first_byte', true],
    ['before the first byte of a plain answer', { hold_first: true }, 'before_first_byte', false],
    ['mid-stream', { hold_after_tokens: 2 }, 'mid_stream', true],
  ] as const)(
    '%s: the engine sees it, then the lease is gone and the slot ready',
    async (_name, knobs, phase, stream) => {
      // A port that hal0 chooses may be lost to another test, which costs one more start.
      const at = await startTestDaemon({ a: { knobs, port: await freePort() } })
      const engine = await at.load('a')
      const leaving = new AbortController()
      const answer = at.chat({ stream }, { signal: leaving.signal })
      await engine.waitFor('active', 1)
      if (phase === 'mid_stream') {
        const reader = (await answer).body?.getReader()
        await reader?.read()
      } else {
        answer.catch(() => undefined)
      }
      await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'serving')
      const leftAtNs = process.hrtime.bigint()
      leaving.abort()
      const state = await engine.waitFor('aborts', 1)
      const [abort] = state.abort_log
      expect(abort?.phase).toBe(phase)
      expect(BigInt(abort?.at_ns ?? 0)).toBeGreaterThan(leftAtNs)
      await quiet(at)
      await eventually(() => at.states('a').at(-1) === 'ready')
      expect(at.states('a')).toEqual(['starting', 'warming', 'ready', 'serving', 'ready'])
      expect((await engine.state()).counters.active).toBe(0)
    },
  )

  it('while the slot loads: the load goes on for nobody, and ends ready', async () => {
    const at = await startTestDaemon({ a: { knobs: { load_ms: 300 } } })
    const leaving = new AbortController()
    const answer = at.chat({}, { signal: leaving.signal }).catch(() => 'left')
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'warming')
    leaving.abort()
    expect(await answer).toBe('left')
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'ready')
    expect(at.row('a')).toMatchObject({ in_flight: 0, queued: 0 })
  })
})

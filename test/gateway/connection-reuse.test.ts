import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon } from '../support/daemon-harness.ts'

// CASES 44 and 45: what connections to an engine do between two requests.

describe('CASES 44: an engine that promises keep-alive and closes', () => {
  it.each([
    ['after every stream', { close_after_sse: true }],
    ['after every answer', { close_after_sse: true, close_after_answer: true }],
    ['when idle for 5 ms', { keep_alive_ms: 5 }],
  ])('%s: 300 of 300, streamed and plain, back to back', async (_name, knobs) => {
    const at = await startTestDaemon({ a: { knobs } })
    const engine = await at.load('a')
    const bad: unknown[] = []
    for (let i = 0; i < 300; i++) {
      // Streams after streams, plain after streams, plain after plain.
      const stream = i % 3 !== 2
      const answer = await at.chat({ stream, max_tokens: 2 })
      const text = await answer.text()
      const isWhole = stream ? text.endsWith('data: [DONE]\n\n') : text.includes('"usage"')
      if (answer.status !== 200 || !isWhole) bad.push({ i, status: answer.status, text })
    }
    expect(bad).toEqual([])
    // None was asked twice either.
    expect((await engine.state()).counters).toMatchObject({ inference: 300, answered: 300, aborts: 0 })
  })

  it('and with eight clients at once', async () => {
    const at = await startTestDaemon({ a: { knobs: { close_after_sse: true, close_after_answer: true } } })
    const engine = await at.load('a')
    const statuses: number[] = []
    const client = async (n: number): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const answer = await at.chat({ stream: (i + n) % 2 === 0, max_tokens: 2 })
        await answer.text()
        statuses.push(answer.status)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, n) => client(n)))
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect((await engine.state()).counters).toMatchObject({ inference: 320, answered: 320 })
  })
})

describe('CASES 45: clients that leave while they are queued', () => {
  it.each([true, false])('eight of them change nothing for the ninth (stream: %s)', async (stream) => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: 8, hold_first: true } } })
    const engine = await at.load('a')
    const held = Array.from({ length: 8 }, () => at.chat({ stream }))
    await engine.waitFor('active', 8)
    const leaving = new AbortController()
    const left = Array.from({ length: 8 }, () => at.chat({ stream }, { signal: leaving.signal }).catch(() => 'left'))
    await eventually(() => at.row('a').queued === 8)
    const ninth = at.chat({ stream })
    await eventually(() => at.row('a').queued === 9)
    leaving.abort()
    expect(new Set(await Promise.all(left))).toEqual(new Set(['left']))
    await eventually(() => at.row('a').queued === 1)
    await engine.setKnobs({ hold_first: false })
    for (const answer of [...held, ninth]) {
      const { status } = await answer
      expect(status).toBe(200)
      await (await answer).text()
    }
    await eventually(() => at.row('a').in_flight === 0)
    expect((await engine.state()).counters).toMatchObject({ inference: 9, answered: 9, aborts: 0 })
    // All eight places are there again, at once.
    await engine.setKnobs({ hold_first: true })
    const again = Array.from({ length: 8 }, () => at.chat({ stream }))
    await engine.waitFor('active', 8)
    await engine.setKnobs({ hold_first: false })
    for (const answer of again) await (await answer).text()
  })

  it('clients that leave at the moment of their turn take no place with them', async () => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: 1 } } })
    const engine = await at.load('a')
    for (let round = 0; round < 20; round++) {
      const leaving = new AbortController()
      const first = at.chat({ max_tokens: 2 })
      const others = Array.from({ length: 4 }, () =>
        at.chat({ stream: true, max_tokens: 50 }, { signal: leaving.signal }).then(
          (answer) => answer.text().catch(() => 'left'),
          () => 'left',
        ),
      )
      // The place of the first goes to one of those who leave now.
      await (await first).text()
      leaving.abort()
      await Promise.all(others)
      const last = await at.chat({ max_tokens: 2 })
      expect(last.status).toBe(200)
      await last.text()
    }
    await eventually(() => at.row('a').in_flight === 0 && at.row('a').queued === 0)
    await expect.poll(async () => (await engine.state()).counters.active).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon } from '../support/daemon-harness.ts'
import { fakeControl } from '../support/start-fake.ts'

describe('a cold slot', () => {
  it('is loaded once for fifty requests at once, and all are answered', async () => {
    const at = await startTestDaemon({ a: { knobs: { load_ms: 300, total_slots: 4 } } })
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const response = await at.chat({ messages: [{ role: 'user', content: `question ${i}` }] })
        return {
          status: response.status,
          text: await response.text(),
          timing: response.headers.get('server-timing'),
          i,
        }
      }),
    )
    for (const { status, text, i } of answers) {
      expect([status, text]).toEqual([200, expect.stringContaining(`question ${i}`)])
    }
    expect(at.states('a').filter((state) => state === 'starting')).toHaveLength(1)
    for (const { timing } of answers) expect(timing).toMatch(/^spawn;dur=\d+, warm;dur=\d+$/)
    const warm = await at.chat({})
    expect([warm.status, warm.headers.get('server-timing')]).toEqual([200, null])
    const state = await fakeControl(`http://127.0.0.1:${at.row('a').port}`).state()
    expect(state.counters.inference).toBe(51)
    expect(state.counters.max_active).toBeLessThanOrEqual(4)
  })

  it('answers 503 slot.loading with Retry-After at the wait limit, and the load goes on', async () => {
    const at = await startTestDaemon({ a: { knobs: { hold_load: true } } })
    const response = await at.chat({}, { headers: { 'content-type': 'application/json', 'x-hal0-wait': '0.2' } })
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await response.json()).toMatchObject({ error: { code: 'slot.loading', details: { state: 'warming' } } })
    await fakeControl(`http://127.0.0.1:${at.row('a').port}`).setKnobs({ hold_load: false })
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'ready')
    expect((await at.chat({})).status).toBe(200)
    expect(at.states('a').filter((state) => state === 'starting')).toHaveLength(1)
  })

  it('one second into an unload that takes three, a request is served by a fresh load', async () => {
    const at = await startTestDaemon({ a: { knobs: { slow_stop_ms: 3_000 } } })
    const first = await at.load('a')
    const { pid } = await first.state()
    const unloaded = at.daemon.slots.unload('a', { drainMs: 30_000 })
    await first.waitFor('sigterms', 1)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(at.row('a').state).toBe('unloading')
    const response = await at.chat({})
    expect(response.status).toBe(200)
    await unloaded
    const now = at.row('a')
    expect(now.pid).not.toBe(pid)
    expect(at.states('a')).toEqual(
      ['starting', 'warming', 'ready', 'unloading', 'offline', 'starting', 'warming', 'ready', 'serving'].slice(
        0,
        at.states('a').length,
      ),
    )
    // The next start waited until the predecessor was dead.
    expect(now.phases?.stop).toBeGreaterThan(0)
  })

  it('a change of the file counts from the next load: port and model', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    const before = at.row('a').port
    await at.writeSlot('a', { model: 'nobody' })
    await expect(at.daemon.slots.load('a')).resolves.toMatchObject({ port: before })
    await at.daemon.slots.unload('a', { drainMs: 0 })
    const response = await at.chat({})
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: 'model.not_found' } }])
    await at.writeSlot('a', {})
    await expect(at.daemon.slots.restart('a', { drainMs: 0 })).resolves.toMatchObject({ state: 'ready' })
  })

  it('other slots are served while one hangs, and the hanging one can be unloaded', async () => {
    const at = await startTestDaemon({ a: { knobs: { hang: 'accept' } }, b: {} })
    const stuck = at.chat({ model: 'a' })
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'warming')
    expect((await at.chat({ model: 'b' })).status).toBe(200)
    // Its callers wait for the next load, which hangs as well; what counts is that the process is gone and another one came.
    const { pid } = at.row('a')
    await at.daemon.slots.unload('a', { drainMs: 0 })
    await eventually(() => at.row('a').pid !== pid)
    await at.daemon.stop({ drainMs: 0 })
    expect((await stuck).status).toBe(503)
  })
})

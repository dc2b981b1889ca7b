import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'
import { fakeControl } from '../support/start-fake.ts'

// Slots whose states are compared have a port of their own: one that hal0 chooses may be lost to another test, which costs one more start.

/** False while the engine does not listen yet. */
function letLoad(port: number | null): Promise<boolean> {
  return fakeControl(`http://127.0.0.1:${port}`)
    .setKnobs({ hold_load: false })
    .then(
      () => true,
      () => false,
    )
}

describe('a cold slot', () => {
  it('is loaded once for fifty requests at once, and all are answered', async () => {
    const at = await startTestDaemon({
      a: { knobs: { load_ms: 300, total_slots: 4 }, port: await freePort() },
    })
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
    for (const { timing } of answers) expect(timing).toMatch(/^spawn;dur=\d+, warm;dur=\d+, sanity;dur=\d+$/)
    const warm = await at.chat({})
    expect([warm.status, warm.headers.get('server-timing')]).toEqual([200, null])
    const state = await fakeControl(`http://127.0.0.1:${at.row('a').port}`).state()
    expect(state.counters.inference).toBe(51)
    expect(state.counters.max_active).toBeLessThanOrEqual(4)
  })

  it('answers 503 slot.loading with Retry-After at the wait limit, and the load goes on', async () => {
    const at = await startTestDaemon({ a: { knobs: { hold_load: true }, port: await freePort() } })
    const response = await at.chat({}, { headers: { 'content-type': 'application/json', 'x-hal0-wait': '0.2' } })
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await response.json()).toMatchObject({
      error: { code: 'slot.loading', details: { state: expect.stringMatching(/^(starting|warming)$/) } },
    })
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'warming')
    await eventually(() => letLoad(at.row('a').port))
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'ready')
    expect((await at.chat({})).status).toBe(200)
    expect(at.states('a').filter((state) => state === 'starting')).toHaveLength(1)
  })

  it('a request in the middle of an unload waits for its end, and is served by a fresh load', async () => {
    const port = await freePort()
    const at = await startTestDaemon({ a: { port, knobs: { ignore_sigterm: true } } }, { slots: { stop_grace_s: 600 } })
    const first = await at.load('a')
    const { pid } = await first.state()
    const unloaded = at.daemon.slots.unload('a', { drainMs: 30_000 })
    await first.waitFor('sigterms', 1)
    const asked = at.chat({})
    await eventually(() => at.row('a').queued === 1)
    expect(at.row('a')).toMatchObject({ state: 'unloading', pid })
    // It leaves when the test says so; its successor may not be so stubborn.
    await at.writeSlot('a', { port })
    await first.setKnobs({ exit_after_ms: 1 })
    const response = await asked
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hi')])
    await unloaded
    const now = at.row('a')
    expect(now.pid).not.toBe(pid)
    const loaded = ['starting', 'warming', 'ready']
    expect(at.states('a').slice(0, 8)).toEqual([...loaded, 'unloading', 'offline', ...loaded])
    // Told at intervals only, or not at all.
    expect(['serving', 'ready']).toEqual(expect.arrayContaining(at.states('a').slice(8)))
    // The next start waited until the predecessor was dead.
    expect(now.phases?.stop).toBeGreaterThan(0)
  })

  it('an explicit load moves a running slot to what its file says now, once; the next one is no start', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    const before = at.row('a')
    const port = await freePort()
    await at.writeSlot('a', { port })
    const [one, two] = await Promise.all([at.daemon.slots.load('a'), at.daemon.slots.load('a')])
    expect([one.port, two.port]).toEqual([port, port])
    expect(one.pid).not.toBe(before.pid)
    expect((await at.daemon.slots.load('a')).pid).toBe(one.pid)
    // A request never restarts anything.
    await at.writeSlot('a', {})
    expect((await at.chat({})).status).toBe(200)
    expect(at.row('a').pid).toBe(one.pid)
  })

  it('a mistake in the file costs no working engine, and is said', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    const { pid } = at.row('a')
    await at.writeSlot('a', { model: 'nobody' })
    await expect(at.daemon.slots.load('a')).rejects.toMatchObject({ code: 'model.not_found' })
    await expect(at.daemon.slots.restart('a', { drainMs: 0 })).rejects.toMatchObject({ code: 'model.not_found' })
    expect(at.row('a')).toMatchObject({ state: 'ready', pid })
    // Once it is down, the mistake is the operator's: no 4xx for the client.
    await at.daemon.slots.unload('a', { drainMs: 0 })
    expect((await at.chat({})).status).toBeGreaterThanOrEqual(500)
    await at.writeSlot('a', {})
    await expect(at.daemon.slots.restart('a', { drainMs: 0 })).resolves.toMatchObject({ state: 'ready' })
  })

  it('a load to another model id, or to a taken port, does what it says', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    await at.writeSlot('a', { model: 'twin' })
    await expect(at.daemon.slots.load('a')).resolves.toMatchObject({ model_id: 'twin' })
    expect((await at.chat({ model: 'twin' })).status).toBe(200)
    const { pid } = at.row('a')
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
    const address = holder.address()
    if (address === null || typeof address === 'string') throw new Error('no address')
    await at.writeSlot('a', { model: 'twin', port: address.port })
    for (const wish of [() => at.daemon.slots.load('a'), () => at.daemon.slots.restart('a', { drainMs: 0 })]) {
      await expect(wish()).rejects.toMatchObject({ code: 'slot.port_in_use' })
    }
    expect(at.row('a')).toMatchObject({ state: 'ready', pid })
    await new Promise((resolve) => holder.close(resolve))
  })

  it('loads two at a time when the daemon starts', async () => {
    const slots = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name) => [name, { autoload: true, knobs: { hold_load: true } }]),
    )
    const at = await startTestDaemon(slots)
    const states = () => at.daemon.slots.rows().map((row) => row.state)
    // They all hold: whoever may load is warming in the end, and the others have not begun.
    await eventually(() => states().filter((state) => state === 'warming').length >= 2)
    expect(states().toSorted()).toEqual(['offline', 'offline', 'warming', 'warming'])
    await eventually(async () => {
      const loading = at.daemon.slots.rows().filter((row) => row.state === 'warming')
      expect(loading.length).toBeLessThanOrEqual(2)
      for (const row of loading) await letLoad(row.port)
      return states().every((state) => state === 'ready')
    })
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

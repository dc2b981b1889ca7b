import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { slotStatePath } from '../../src/files/home.ts'
import { eventually } from '../support/daemon-harness.ts'
import { enginesOf, isUp, makeOwnHome, serve } from './adoption-world.ts'

const ENDLESS = { stream: true, ignore_eos: true, max_tokens: 100_000 }

/** Everything a stream says until it ends or breaks. */
async function readAll(response: Response): Promise<'ended' | 'broke'> {
  try {
    await response.text()
    return 'ended'
  } catch {
    return 'broke'
  }
}

describe('kill -9 of the daemon under load', () => {
  it('each engine goes on as the slot of the next daemon: same pid, no second question, served, stopped when asked', async () => {
    const slow = { tokens_per_second: 20 }
    const at = await makeOwnHome({
      streams: { knobs: slow },
      plain: { knobs: { hold_first: true } },
      loading: { knobs: { hold_load: true } },
      draining: { knobs: slow },
      unloading: { knobs: { slow_stop_ms: 60_000 } },
      swapped: {},
      crashed: { knobs: { load_ms: 300, exit_during_load: true, last_words: 'no luck' } },
    })
    const first = await serve(at)
    const load = (slot: string) => first.post(`/api/slots/${slot}/load`)
    for (const slot of ['streams', 'plain', 'draining', 'unloading', 'swapped'])
      expect([slot, (await load(slot)).status]).toEqual([slot, 200])
    expect((await first.post('/api/slots/swapped/swap', { model_id: 'twin', persist: false })).status).toBe(200)
    void load('loading').catch(() => undefined)
    void load('crashed').catch(() => undefined)

    const streams = await Promise.all([1, 2, 3].map(() => first.chat('streams', ENDLESS)))
    const drained = await first.chat('draining', ENDLESS)
    const waiting = first.chat('plain').then(readAll, () => 'broke' as const)
    void first.post('/api/slots/draining/unload?drain_s=600').catch(() => undefined)
    void first.post('/api/slots/unloading/unload').catch(() => undefined)
    await first.until('loading', ({ state }) => state === 'warming')
    await first.until('unloading', ({ state }) => state === 'unloading')
    await first.until('draining', ({ message }) => message.includes('stopping'))
    await first.until('plain', ({ in_flight }) => in_flight === 1)
    const crash = await first.until('crashed', ({ breaker }) => breaker !== null)
    expect(crash.breaker).toMatchObject({ state: 'backoff', failures: 1 })
    // What is on disk counts for the next daemon; it follows what people see by the time a write takes.
    await eventually(async () => (await readFile(slotStatePath(at.home, 'crashed'), 'utf8')).includes('"failures": 1'))
    const before = await first.rows()
    const pids = await enginesOf(at)
    expect(Object.keys(pids).toSorted()).toEqual(
      ['draining', 'loading', 'plain', 'streams', 'swapped', 'unloading'].toSorted(),
    )

    await first.kill9()
    // Nobody waits for what nobody will say.
    expect(await Promise.all([...streams, drained].map(readAll))).toEqual(['broke', 'broke', 'broke', 'broke'])
    expect(await waiting).toBe('broke')

    const second = await serve(at)
    for (const slot of ['streams', 'plain', 'draining', 'swapped']) {
      const row = await second.until(slot, isUp)
      const was = before.find(({ name }) => name === slot)
      const { pid, port, model_id, file_model_id, profile, runner, ctx_effective, ctx_source, mem_bytes } = was ?? {}
      expect(row).toMatchObject({ pid, port, model_id, file_model_id, profile, runner, ctx_effective, ctx_source })
      expect([row.mem_bytes, row.restart_needed, row.config_problem]).toEqual([mem_bytes, [], null])
      const state = await (await second.engine(slot)).state()
      expect([slot, state.counters.sanity_requests]).toEqual([slot, 1])
    }
    expect(await second.row('swapped')).toMatchObject({ model_id: 'twin', file_model_id: 'hello' })
    // Whoever was being stopped has been stopped; what had failed still counts.
    expect(await second.row('unloading')).toMatchObject({ state: 'offline', pid: null })
    expect(await second.row('crashed')).toMatchObject({ state: 'error', breaker: { failures: 1 } })
    expect((await second.row('crashed')).failure?.message).toBe(crash.failure?.message)

    // The one that was loading goes on with its load.
    expect(await second.row('loading')).toMatchObject({ state: 'warming', pid: pids['loading']?.[0] })
    await (await second.engine('loading')).setKnobs({ hold_load: false })
    await second.until('loading', isUp)
    await (await second.engine('plain')).setKnobs({ hold_first: false })
    const { unloading: _ended, ...alive } = pids
    expect(await enginesOf(at)).toEqual(alive)

    for (const slot of ['streams', 'plain', 'draining', 'swapped', 'loading'])
      expect([slot, (await second.chat(slot)).status]).toEqual([slot, 200])
    expect((await second.chat('twin')).status).toBe(200)
    for (const slot of ['streams', 'plain', 'draining', 'swapped', 'loading']) {
      expect(await (await second.post(`/api/slots/${slot}/unload`)).json()).toMatchObject({ state: 'offline' })
    }
    expect(await enginesOf(at)).toEqual({})
    expect(await second.events('slot.crashed')).toEqual([])
    expect(await second.end()).toBe(0)
  })
})

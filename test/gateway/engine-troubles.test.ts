import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'
import { fakeControl } from '../support/start-fake.ts'

describe('an engine that', () => {
  it('exits while it loads: error, the decisive line with a remedy, and nothing left', async () => {
    const at = await startTestDaemon({
      a: {
        knobs: {
          load_ms: 200,
          exit_during_load: true,
          exit_code: 1,
          last_words: ['noise', 'ggml_cuda: cudaMalloc failed: out of memory', 'more noise'],
        },
      },
    })
    const response = await at.chat({})
    expect(response.status).toBe(500)
    const { error } = (await response.json()) as {
      error: { code: string; message: string; details: Record<string, unknown> }
    }
    expect(error.code).toBe('slot.spawn_failed')
    expect(error.message).toContain('exited with code 1')
    expect(error.details['line']).toContain('out of memory')
    expect(String(error.details['remedy'])).toMatch(/context|layers|smaller/i)
    expect(at.row('a')).toMatchObject({ state: 'error', failure: { line: expect.stringContaining('out of memory') } })
    await eventually(async () => (await at.enginePids()).length === 0)
  })

  it('explains itself by what this start wrote, not by an older one', async () => {
    const at = await startTestDaemon({
      a: { knobs: { exit_during_load: true, load_ms: 10, last_words: 'out of memory' } },
    })
    await at.chat({})
    await at.writeSlot('a', { knobs: { exit_during_load: true, load_ms: 10, exit_code: 7 } })
    const again = await at.daemon.slots.load('a').catch((error: unknown) => error)
    expect(again).toMatchObject({ message: expect.stringContaining('code 7') })
    expect(JSON.stringify(at.row('a'))).not.toContain('out of memory')
  })

  it('hangs in load: stays warming, is loaded once more, then is an error; both processes are gone', async () => {
    const at = await startTestDaemon(
      { a: { knobs: { hang: 'accept' }, port: await freePort() } },
      { slots: { load_verdict_s: 0.2, load_limit_s: 0.6 } },
    )
    const loaded = at.daemon.slots.load('a')
    await eventually(() => at.row('a').message === 'no answer yet; still warming')
    expect(at.row('a').state).toBe('warming')
    await expect(loaded).rejects.toMatchObject({ code: 'slot.health_failed' })
    await eventually(async () => (await at.enginePids()).length === 0)
    expect(at.states('a')).toEqual(['starting', 'warming', 'offline', 'starting', 'warming', 'error'])
  })

  it('cannot be spawned: says program and reason, one attempt per wish', async () => {
    const at = await startTestDaemon({ a: {} }, { runners: { cpu: { binary: '/nowhere/llama-server' } } })
    const response = await at.chat({})
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: 'slot.spawn_failed', message: expect.stringContaining('llama-server') } },
    ])
    expect(at.row('a').failure?.message).toContain('/nowhere/llama-server')
    expect(at.states('a')).toEqual(['starting', 'error'])
  })

  it('ignores SIGTERM: killed at the deadline, 504 to the caller before that, offline in the end', async () => {
    const at = await startTestDaemon(
      { a: { knobs: { ignore_sigterm: true } } },
      { slots: { stop_grace_s: 1, stop_wait_s: 0.3 } },
    )
    await at.load('a')
    await expect(at.daemon.slots.unload('a', { drainMs: 0 })).rejects.toMatchObject({ code: 'slot.terminate_timeout' })
    expect(at.row('a').state).toBe('unloading')
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'offline')
    expect(await at.enginePids()).toEqual([])
  })

  it('dies in the middle of a stream: one last error event, slot in error, the next request loads afresh', async () => {
    const at = await startTestDaemon({ a: { knobs: { die_after_tokens: 3, die_how: 'exit', exit_code: 9 } } })
    const response = await at.chat({ stream: true, ignore_eos: true, max_tokens: 50 })
    expect(response.status).toBe(200)
    const events = (await response.text()).split('\n\n').filter((part) => part.startsWith('data: '))
    const last: unknown = JSON.parse(events.at(-1)?.slice(6) ?? '')
    expect(last).toMatchObject({
      error: { code: 'dispatch.upstream_unavailable', message: expect.stringContaining('a') },
    })
    expect(events.filter((event) => event.includes('"error"'))).toHaveLength(1)
    await at.event((event) => event.type === 'slot.crashed')
    expect(at.row('a')).toMatchObject({
      state: 'error',
      in_flight: 0,
      failure: { message: expect.stringContaining('code 9') },
    })
    // Another launch has no failures.
    await at.writeSlot('a', {})
    await eventually(() => at.row('a').breaker === null)
    expect((await at.chat({})).status).toBe(200)
  })

  it('ends after an answer: each request is answered, or refused until it may be started again; a person may start it at once', async () => {
    const at = await startTestDaemon({ a: { knobs: { exit_after_requests: 20 } } })
    const statuses: number[] = []
    for (let n = 0; n < 200; n++) {
      const answer = await at.chat({})
      statuses.push(answer.status)
      const text = await answer.text()
      if (answer.status === 200) continue
      expect([answer.status, text]).toEqual([503, expect.stringContaining('slot.crash_looping')])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      await at.daemon.slots.load('a')
    }
    // Not the starts: one that lost its port to another daemon is made again, and refuses nobody.
    const deaths = at.states('a').filter((state) => state === 'error').length
    expect(deaths).toBeGreaterThanOrEqual(9)
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(deaths - 1)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(185)
  }, 60_000)

  it('is killed between two requests: the next one hears when it may be started again, at the moment of death or after', async () => {
    const at = await startTestDaemon({ a: {} })
    for (let n = 0; n < 8; n++) {
      expect((await at.chat({})).status).toBe(200)
      const pid = at.row('a').pid
      if (pid === null) throw new Error('the slot has no process')
      process.kill(pid, 'SIGKILL')
      const next = await at.chat({})
      expect([next.status, await next.text()]).toEqual([503, expect.stringContaining('slot.crash_looping')])
      await at.daemon.slots.load('a')
      expect(at.row('a').pid).not.toBe(pid)
    }
  }, 60_000)

  it.each(['group', 'setsid'])('leaves a grandchild (%s) with the log open: unload ends it too', async (grandchild) => {
    const at = await startTestDaemon(
      { a: { knobs: { grandchild, grandchild_ignores_sigterm: true } } },
      { slots: { stop_grace_s: 1 } },
    )
    const engine = await at.load('a')
    expect((await engine.state()).grandchildren).toHaveLength(1)
    expect(await at.enginePids()).toHaveLength(2)
    await expect(at.daemon.slots.unload('a', { drainMs: 0 })).resolves.toMatchObject({ state: 'offline' })
    expect(await at.enginePids()).toEqual([])
  })

  it('crashes and leaves a grandchild: that is ended before the next start', async () => {
    const at = await startTestDaemon({ a: { knobs: { grandchild: 'setsid', exit_after_requests: 1 } } })
    await at.load('a')
    const old = await at.enginePids()
    expect((await at.chat({})).status).toBe(200)
    await at.event((event) => event.type === 'slot.crashed')
    await at.load('a')
    const now = await at.enginePids()
    expect(now.filter((pid) => old.includes(pid))).toEqual([])
  })

  it('is a stranger that does not know the key: refused, said, and not adopted', async () => {
    const at = await startTestDaemon({ a: { knobs: { accept_key: 'another' }, port: await freePort() } })
    const response = await at.chat({})
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: 'slot.spawn_failed', message: expect.stringContaining('does not accept the key') } },
    ])
    expect(at.row('a').state).toBe('error')
    await eventually(async () => (await at.enginePids()).length === 0)
  })

  it('lists no model: idle, 503 without Retry-After naming the model, ready when the list fills', async () => {
    const at = await startTestDaemon({ a: { knobs: { models_empty: true } } })
    const response = await at.chat({})
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, null])
    expect(await response.json()).toMatchObject({
      error: { code: 'slot.not_ready', message: expect.stringContaining('hello') },
    })
    expect(at.row('a').state).toBe('idle')
    await fakeControl(`http://127.0.0.1:${at.row('a').port}`).setKnobs({ models_empty: false })
    await at.event((event) => event.type === 'slot.state' && event.data['to'] === 'ready')
    expect((await at.chat({})).status).toBe(200)
  })

  it('gets its own key at each start; without it nobody is answered', async () => {
    const at = await startTestDaemon({ a: {}, b: {} })
    await at.load('a')
    await at.load('b')
    for (const slot of ['a', 'b']) {
      const refused = await fetch(`http://127.0.0.1:${at.row(slot).port}/v1/chat/completions`, {
        method: 'POST',
        body: '{}',
      })
      expect(refused.status).toBe(401)
    }
  })
})

it('two daemons that start at the same moment share the ports, not the failures', async () => {
  const homes = await Promise.all([1, 2, 3].map(() => startTestDaemon({ a: {}, b: {} })))
  const rows = await Promise.all(homes.flatMap((at) => ['a', 'b'].map((slot) => at.daemon.slots.load(slot))))
  expect(rows.map((row) => row.state)).toEqual(Array.from({ length: 6 }, () => 'ready'))
  expect(new Set(rows.map((row) => row.port)).size).toBe(6)
})

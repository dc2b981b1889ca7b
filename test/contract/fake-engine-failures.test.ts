import { describe, expect, it } from 'vitest'
import { answerOf, chat, eventsOf, isAlive, open, post } from '../support/fake-client.ts'
import { start } from './fake-engine-start.ts'

describe('failures', () => {
  it.each([
    ['cut', { code: null, signal: 'SIGKILL' }],
    ['exit', { code: 1, signal: null }],
  ])('breaks off mid-stream, after what was said: %s', async (die_how, end) => {
    const engine = await start()
    const body = chat('x', { stream: true, max_tokens: 50, ignore_eos: true, fake: { die_after_tokens: 3, die_how } })
    const stream = await open(engine, body)
    let text = ''
    const read = async () => {
      for await (const part of stream) text += String(part)
    }
    await expect(read()).rejects.toThrow('aborted')
    expect(eventsOf(text)).toHaveLength(4)
    await engine.stop()
    expect(await engine.exited).toEqual(end)
  })

  it('gives planned errors for the next N requests', async () => {
    const engine = await start({
      knobs: { error_status: 429, error_count: 1, error_body: { error: { message: 'busy' } } },
    })
    const first = await post(engine, chat('x'))
    expect([first.status, await first.json()]).toEqual([429, { error: { message: 'busy' } }])
    expect((await post(engine, chat('x'))).status).toBe(200)
  })

  it('dies after its first answer', async () => {
    const engine = await start({ knobs: { exit_after_requests: 1, exit_code: 3 } })
    expect((await post(engine, chat('x'))).status).toBe(200)
    expect((await engine.exited).code).toBe(3)
  })

  it('frames answers in every way, also wrong ones', async () => {
    const engine = await start()
    const header = async (name: string) => (await post(engine, chat('x'))).headers.get(name)
    expect(await header('content-length')).not.toBeNull()
    await engine.setKnobs({ transfer: 'chunked' })
    expect(await header('transfer-encoding')).toBe('chunked')
    await engine.setKnobs({ transfer: 'close' })
    expect((await answerOf(await post(engine, chat('x')))).model).toBe('fake')
    await engine.setKnobs({ transfer: 'short' })
    await expect(post(engine, chat('x')).then((r) => r.text())).rejects.toThrow('terminated')
    await engine.setKnobs({ transfer: 'length', garbage: 'not_http' })
    await expect(post(engine, chat('x'))).rejects.toThrow('fetch failed')
    await engine.setKnobs({ garbage: 'truncated_json' })
    await expect(post(engine, chat('x')).then((r) => r.json())).rejects.toThrow('JSON')
    await engine.setKnobs({ garbage: null, bad_chunking: true })
    await expect(post(engine, chat('x', { stream: true })).then((r) => r.text())).rejects.toThrow('terminated')
  })

  it('closes after a stream although it promised keep-alive', async () => {
    const engine = await start({ knobs: { close_after_sse: true } })
    const stream = await open(engine, chat('x', { stream: true }))
    expect(stream.headers['keep-alive']).toBeDefined()
    stream.resume()
    await engine.waitFor('answered', 1)
    await expect.poll(async () => (await engine.state()).counters.connections_open).toBe(1)
  })
})

describe('stopping', () => {
  it('exits 0 on SIGTERM, late with slow_stop_ms, never with ignore_sigterm', async () => {
    const good = await start()
    process.kill(good.pid, 'SIGTERM')
    expect(await good.exited).toEqual({ code: 0, signal: null })
    const slow = await start({ knobs: { slow_stop_ms: 50 } })
    process.kill(slow.pid, 'SIGTERM')
    expect((await slow.exited).code).toBe(0)
    const deaf = await start({ knobs: { ignore_sigterm: true } })
    process.kill(deaf.pid, 'SIGTERM')
    await deaf.waitFor('sigterms', 1)
    expect((await post(deaf, chat('x'))).status).toBe(200)
    process.kill(deaf.pid, 'SIGKILL')
    expect((await deaf.exited).signal).toBe('SIGKILL')
  })

  it.each(['group', 'setsid'])('leaves a grandchild behind: %s', async (grandchild) => {
    const engine = await start({ knobs: { grandchild } })
    const [pid] = (await engine.state()).grandchildren
    if (pid === undefined) throw new Error('no grandchild was started')
    process.kill(engine.pid, 'SIGTERM')
    await engine.exited
    expect(isAlive(pid)).toBe(true)
    await engine.stop()
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})

import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { answerOf, chat, eventsOf, open, post, textOf } from '../support/fake-client.ts'
import { startFakeEngine } from '../support/start-fake.ts'
import { start } from './fake-engine-start.ts'

// The knobs that the other suites rely on most: a fake that lies would make them pass by luck.

describe('a healthy fake engine', () => {
  it('asks for its key everywhere but on health and models, and echoes argv and body', async () => {
    const engine = await start({ argv: ['-ngl', '-1', '--metrics', '--some-new-flag=x'], env: { EXTRA: '1' } })
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(engine.origin + path, { headers })).status
    expect(await status('/health')).toBe(200)
    expect(await status('/v1/models')).toBe(200)
    expect(await status('/props')).toBe(401)
    expect(await status('/props', { authorization: 'Bearer wrong' })).toBe(401)
    expect(await status('/props', { 'x-api-key': engine.key })).toBe(200)
    const body = chat('grüße 世界')
    expect((await post(engine, body)).status).toBe(200)
    const state = await engine.state()
    expect(state.argv.slice(-4)).toEqual(['-ngl', '-1', '--metrics', '--some-new-flag=x'])
    expect(state.env_names).toContain('EXTRA')
    expect(state.counters.unauthorized).toBe(2)
    expect(state.last_request).toMatchObject({
      body_sha256: createHash('sha256').update(body).digest('hex'),
      body_bytes: Buffer.byteLength(body),
      phase: 'done',
    })
  })

  it('answers each prompt differently and the same prompt alike, streamed or not, whatever the cuts', async () => {
    const engine = await start()
    const one = await answerOf(await post(engine, chat('one 世界 💡')))
    const two = await answerOf(await post(engine, chat('two 世界 💡')))
    const text = one.choices[0]?.message.content ?? ''
    expect(text).toMatch(/^Echo [0-9a-f]{8}: one 世界 💡$/)
    expect(two.choices[0]?.message.content).not.toBe(text)
    for (const fake of [{}, { write_bytes: 5 }, { chunk_tokens: 3 }, { sse_crlf: true }]) {
      const events = eventsOf(await (await post(engine, chat('one 世界 💡', { stream: true, fake }))).text())
      expect(textOf(events)).toBe(text)
      expect(events.at(-1)).toBe('[DONE]')
    }
  })

  it.each([
    ['ends by itself', {}, 'stop', 8],
    ['stops at max_tokens', { max_tokens: 2 }, 'length', 2],
    ['goes on with ignore_eos', { max_tokens: 200, ignore_eos: true }, 'length', 200],
  ])('%s and counts the tokens', async (_name, more, reason, tokens) => {
    const engine = await start()
    const answer = await answerOf(await post(engine, chat('hello there', more)))
    expect(answer.choices[0]?.finish_reason).toBe(reason)
    expect(answer.usage.completion_tokens).toBe(tokens)
    const metrics = await fetch(`${engine.origin}/metrics`, { headers: { 'x-api-key': engine.key } })
    expect(await metrics.text()).toContain(`llamacpp:tokens_predicted_total ${tokens}
`)
  })

  it('refuses bad bodies, too long prompts and misspelt knobs', async () => {
    const engine = await start({ argv: ['--ctx-size', '16'] })
    for (const body of ['{bad', '{"x":1}', chat('word '.repeat(40)), chat('x', { fake: { tokens_per_sec: 1 } })]) {
      const answer = await post(engine, body)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toHaveProperty('error.message')
    }
    await expect(engine.setKnobs({ nonsense: 1 })).rejects.toThrow('nonsense')
    await expect(startFakeEngine({ env: { FAKE_NONSENSE: '1' } })).rejects.toThrow('nonsense')
  })
})

describe('load', () => {
  it('is 503 until the gate opens, and models_early lists the model before', async () => {
    const engine = await start({ knobs: { hold_load: true, models_early: true } })
    expect((await fetch(`${engine.origin}/health`)).status).toBe(503)
    expect((await fetch(`${engine.origin}/v1/models`)).status).toBe(200)
    expect((await post(engine, chat('x'))).status).toBe(503)
    await engine.setKnobs({ hold_load: false })
    await expect.poll(async () => (await fetch(`${engine.origin}/health`)).status).toBe(200)
  })

  it('dies during the load with its last words, code or signal', async () => {
    const knobs = { load_ms: 60_000, last_words: 'ggml: out of memory', exit_after_ms: 1 }
    const byCode = await start({ knobs: { ...knobs, exit_code: 7 } })
    expect(await byCode.exited).toEqual({ code: 7, signal: null })
    expect(byCode.stderr()).toContain('ggml: out of memory')
    const bySignal = await start({ knobs: { ...knobs, exit_signal: 'SIGSEGV' } })
    expect(await bySignal.exited).toEqual({ code: null, signal: 'SIGSEGV' })
  })

  it('complains about a busy port and a missing model as llama-server does', async () => {
    const engine = await start()
    const port = String((await engine.state()).port)
    await expect(startFakeEngine({ argv: ['--port', port] })).rejects.toThrow("couldn't bind HTTP server socket")
    const lost = await start({ knobs: { check_model: true } })
    expect((await lost.exited).code).toBe(1)
    expect(lost.stderr()).toContain('/nowhere/fake.gguf')
  })
})

describe('concurrency and aborts', () => {
  it('serves total_slots at once and the rest in order', async () => {
    const engine = await start({ knobs: { total_slots: 1, hold_first: true } })
    const order: string[] = []
    const ask = async (text: string) => {
      await (await post(engine, chat(text))).text()
      order.push(text)
    }
    const asks = [ask('a')]
    await engine.waitFor('active', 1)
    for (const [i, text] of ['b', 'c'].entries()) {
      asks.push(ask(text))
      await engine.waitFor('waiting', i + 1)
    }
    await engine.setKnobs({ hold_first: false })
    await Promise.all(asks)
    expect(order).toEqual(['a', 'b', 'c'])
    expect((await engine.state()).counters).toMatchObject({ max_active: 1, active: 0, waiting: 0 })
  })

  it('names the phase in which a client left, and stops making tokens', async () => {
    const engine = await start({ argv: ['--parallel', '1'] })
    const streaming = await open(
      engine,
      chat('s', { stream: true, max_tokens: 500, ignore_eos: true, fake: { tokens_per_second: 200 } }),
    )
    await engine.waitFor('tokens', 1)
    const queued = new AbortController()
    const second = post(engine, chat('q'), { signal: queued.signal })
    await engine.waitFor('waiting', 1)
    queued.abort()
    await expect(second).rejects.toThrow('aborted')
    await engine.waitFor('aborts_queued', 1)
    streaming.destroy()
    const state = await engine.waitFor('aborts_mid_stream', 1)
    const tokens = state.abort_log.at(-1)?.tokens ?? 0
    expect(tokens).toBeGreaterThan(0)
    expect(tokens).toBeLessThan(500)

    const early = new AbortController()
    const third = post(engine, chat('f', { fake: { stall_first_ms: -1 } }), { signal: early.signal })
    await engine.waitFor('active', 1)
    early.abort()
    await expect(third).rejects.toThrow('aborted')
    await engine.waitFor('aborts_before_first_byte', 1)
    const after = await engine.state()
    expect(after.counters).toMatchObject({ aborts: 3, active: 0, waiting: 0, tokens })
  })

  it('is held back by a client that does not read', async () => {
    const engine = await start()
    const stream = await open(
      engine,
      chat('big', { stream: true, max_tokens: 3000, ignore_eos: true, fake: { chunk_bytes: 65_536 } }),
    )
    await engine.waitFor('tokens', 2)
    // Another whole answer passes meanwhile: the engine had its turns, the first stream did not move to its end.
    await (await post(engine, chat('small'))).text()
    expect((await engine.state()).counters.tokens).toBeLessThan(3000)
    stream.destroy()
    await engine.waitFor('aborts_mid_stream', 1)
  })
})

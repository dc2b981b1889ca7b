import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { eventsOf, firstChunk, get, metric, open, post } from './runner-client.ts'
import { HELLO, spawnEngine, type TestEngine, until, untilHealthy } from './runner-engines.ts'

const runner = createEmbeddedRunner()
const LONG = { prompt: 'Tell me a story', max_tokens: 2000, ignore_eos: true, temperature: 0, stream: true }

describe('embedded engine at work', () => {
  let engine: TestEngine
  beforeAll(async () => {
    engine = await untilHealthy(await spawnEngine(runner, { flags: ['--parallel', '2'] }))
  })
  afterAll(() => engine?.stop())
  const idle = (): Promise<void> =>
    until('the engine is idle', 10_000, async () => {
      const names = ['requests_processing', 'requests_deferred']
      const counts = await Promise.all(names.map((name) => metric(engine, name)))
      return counts.every((count) => count === 0)
    })
  afterEach(idle)

  it('keeps the model file mapped', async () => {
    expect(await readFile(`/proc/${engine.child.pid}/maps`, 'utf8')).toContain(HELLO)
  })

  it('has as many sequences as asked for, each with the whole window', async () => {
    const rows = JSON.parse((await get(engine, '/slots')).text) as { n_ctx: number }[]
    expect(rows.map((row) => row.n_ctx)).toEqual([2048, 2048])
    expect((await get(engine, '/props')).json).toMatchObject({ total_slots: 2, model_path: HELLO })
  })

  it('answers /health while it decodes', async () => {
    const stream = open(engine, '/v1/completions', LONG)
    await firstChunk(stream)
    expect((await get(engine, '/health')).status).toBe(200)
    expect(await metric(engine, 'requests_processing')).toBe(1)
    stream.leave()
  })

  it('lets requests wait in turn, and forgets one that leaves', async () => {
    const busy = [open(engine, '/v1/completions', LONG), open(engine, '/v1/completions', LONG)]
    await Promise.all(busy.map(firstChunk))
    const leaver = open(engine, '/v1/completions', LONG)
    await until('one waits', 5_000, async () => (await metric(engine, 'requests_deferred')) === 1)
    const patient = post(engine, '/v1/completions', {
      prompt: 'The capital of France is',
      temperature: 0,
      max_tokens: 3,
    })
    await until('two wait', 5_000, async () => (await metric(engine, 'requests_deferred')) === 2)
    leaver.leave()
    await until('the leaver is forgotten', 5_000, async () => (await metric(engine, 'requests_deferred')) === 1)
    expect(await metric(engine, 'requests_processing')).toBe(2)
    busy[0]?.leave()
    expect((await patient).json.choices[0].text).toBe(' Paris.')
    busy[1]?.leave()
  })

  it('stops when the client leaves while its long prompt is read', async () => {
    const long = { ...LONG, prompt: 'a b c d '.repeat(240), cache_prompt: false }
    const predicted = (): Promise<number> => metric(engine, 'tokens_predicted_total')
    const start = await predicted()
    await post(engine, '/v1/completions', { ...long, stream: false })
    const whole = (await predicted()) - start
    const request = open(engine, '/v1/completions', long)
    await until('the prompt is being read', 5_000, async () => (await metric(engine, 'requests_processing')) === 1)
    request.leave()
    await idle()
    expect((await predicted()) - start - whole).toBeLessThan(whole)
    const next = await post(engine, '/v1/completions', {
      prompt: 'The capital of France is',
      max_tokens: 2,
      temperature: 0,
    })
    expect(next.json.choices[0].text).toBe(' Paris')
  })

  it('streams drawn bytes as the plain answer has them', async () => {
    // A high temperature draws byte tokens that make no characters, and some that do.
    for (const seed of [1, 2, 3, 4, 5]) {
      const body = {
        prompt: '世',
        max_tokens: 200,
        ignore_eos: true,
        temperature: 5,
        top_k: 0,
        top_p: 1,
        min_p: 0,
        seed,
      }
      const plain = await post(engine, '/v1/completions', body)
      const { text } = await post(engine, '/v1/completions', { ...body, stream: true })
      const pieces = eventsOf(text).events.map((event) => event.choices[0]?.text ?? '')
      expect(pieces.join('')).toBe(plain.json.choices[0].text)
    }
  })

  it('draws the same with the same seed, and another with another', async () => {
    const draw = async (seed: number): Promise<string> => {
      const body = { prompt: 'Tell', max_tokens: 40, ignore_eos: true, temperature: 2, seed, cache_prompt: false }
      return (await post(engine, '/v1/completions', body)).json.choices[0].text
    }
    expect(await draw(7)).toBe(await draw(7))
    expect(await draw(7)).not.toBe(await draw(8))
  })

  it('gives vectors of length 1, alike for like texts, as numbers and as base64', async () => {
    const { json } = await post(engine, '/v1/embeddings', { input: ['Say tiger', 'Say tiger', 'What is 2+2?'] })
    const [a = [], b = [], c = []] = json.data.map((row) => row.embedding as readonly number[])
    const dot = (x: readonly number[], y: readonly number[]): number =>
      x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
    expect(dot(a, a)).toBeCloseTo(1, 4)
    expect(dot(a, b)).toBeCloseTo(1, 4)
    expect(dot(a, c)).toBeLessThan(0.999)
    const coded = await post(engine, '/v1/embeddings', { input: 'Say tiger', encoding_format: 'base64' })
    const bytes = Buffer.from(coded.json.data[0].embedding as string, 'base64')
    expect(bytes.readFloatLE(0)).toBeCloseTo(a[0] ?? 0, 4)
    expect(bytes.length).toBe(a.length * 4)
  })

  it.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['temperature', { temperature: 'hot' }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }],
  ])('refuses what it would have to ignore, naming it: %s', async (field, more) => {
    const messages = [{ role: 'user', content: 'Say tiger' }]
    const { status, json } = await post(engine, '/v1/chat/completions', { messages, ...more })
    expect(status).toBe(400)
    expect(json.error.message).toContain(`'${field}'`)
  })

  it('ignores what changes nothing', async () => {
    const messages = [{ role: 'user', content: 'Say tiger' }]
    const more = { user: 'me', metadata: {}, n: 1, logprobs: false, tools: [], temperature: 0, model: 'any' }
    const { json } = await post(engine, '/v1/chat/completions', { messages, ...more })
    expect(json.choices[0].message.content).toBe('tiger')
  })
})

describe('embedded engine and a client that does not read', () => {
  let engine: TestEngine
  beforeAll(async () => {
    // Every event carries the alias: 2,000 of 16 KiB are far more than the sockets on the way can hold.
    engine = await untilHealthy(await spawnEngine(runner, { flags: ['--alias', 'x'.repeat(16_384)] }))
  })
  afterAll(() => engine?.stop())

  it('holds back its generation, serves others, and goes on when it reads again', async () => {
    const stream = open(engine, '/v1/completions', LONG)
    await firstChunk(stream)
    const paris = { prompt: 'The capital of France is', max_tokens: 2, temperature: 0 }
    let last = 0
    await until('its generation stands still', 20_000, async () => {
      // Somebody else's 50 tokens are the time in which the held generation would have moved on.
      await post(engine, '/v1/completions', { ...LONG, stream: false, max_tokens: 50 })
      const now = await metric(engine, 'tokens_predicted_total')
      const still = now === last + 50
      last = now
      return still
    })
    const held = await metric(engine, 'tokens_predicted_total')
    expect((await post(engine, '/v1/completions', paris)).json.choices[0].text).toBe(' Paris')
    expect(await metric(engine, 'tokens_predicted_total')).toBe(held + 2)
    expect(await metric(engine, 'requests_processing')).toBe(1)

    const response = await stream.response
    response.resume()
    await once(response, 'end')
    expect(await metric(engine, 'tokens_predicted_total')).toBeGreaterThan(held + 2)
  })
})

import { readFile } from 'node:fs/promises'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { engineKeyPath } from '../../src/files/home.ts'
import { eventually, HELLO_GGUF, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'

const LLAMA_SERVER = process.env['HAL0_TEST_LLAMA_SERVER']
if (LLAMA_SERVER === undefined) console.warn('skipped: HAL0_TEST_LLAMA_SERVER does not name a llama-server')

/** Slot `agent` on the embedded engine; slot `other` on a real llama-server where there is one. */
function start(): Promise<TestDaemon> {
  return startTestDaemon(
    { agent: { runner: 'embedded' }, ...(LLAMA_SERVER === undefined ? {} : { other: { runner: 'cpu' } }) },
    LLAMA_SERVER === undefined ? {} : { runners: { cpu: { binary: LLAMA_SERVER } } },
  )
}

const clientOf = (at: TestDaemon) => new OpenAI({ baseURL: `${at.daemon.url}/v1`, apiKey: 'unused', maxRetries: 0 })
const ask = (text: string) => [{ role: 'user' as const, content: text }]

/** How many tokens the engine itself says it has decoded. */
async function readMetric(at: TestDaemon, slot: string, name: string): Promise<number> {
  const key = await readFile(engineKeyPath(at.home, slot), 'utf8')
  const response = await fetch(`http://127.0.0.1:${at.row(slot).port}/metrics`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const [, value] = new RegExp(`^llamacpp:${name} (\\S+)`, 'm').exec(await response.text()) ?? []
  if (value === undefined) throw new Error(`the engine has no metric ${name}`)
  return Number(value)
}

const tokensDecoded = (at: TestDaemon, slot: string) => readMetric(at, slot, 'tokens_predicted_total')

/** A real llama-server books the tokens of an aborted stream late: counted is what stands still while nothing is processed. */
async function tokensDecodedAtRest(at: TestDaemon, slot: string): Promise<number> {
  let tokens = -1
  await eventually(async () => {
    const before = tokens
    const isBusy = (await readMetric(at, slot, 'requests_processing')) > 0
    tokens = await tokensDecoded(at, slot)
    return !isBusy && tokens === before
  })
  return tokens
}

/** An extension of llama.cpp that the client's types do not know. */
const ENDLESS = { ignore_eos: true } as object

describe.each([
  ['embedded', 'agent', true],
  ['a real llama-server', 'other', LLAMA_SERVER !== undefined],
] as const)('the official openai client on %s', (_name, slot, isPresent) => {
  it.runIf(isPresent)('lists, chats, streams, and parses an error', async () => {
    const at = await start()
    const client = clientOf(at)
    const models = await client.models.list()
    expect(models.data.map((model) => model.id)).toContain(slot)

    const answer = await client.chat.completions.create({ model: slot, messages: ask('What is 2+2?'), temperature: 0 })
    expect(answer.choices[0]?.message.content).toBe('4')
    expect(answer.model).toBe(slot)
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0)

    let streamed = ''
    const stream = await client.chat.completions.create({
      model: slot,
      messages: ask('What is the capital of France?'),
      temperature: 0,
      stream: true,
    })
    for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? ''
    expect(streamed).toBe('Paris')

    const text = await client.completions.create({
      model: slot,
      prompt: 'The capital of France is',
      temperature: 0,
      max_tokens: 8,
    })
    expect(text.choices[0]?.text).toContain('Paris')

    const bad = client.chat.completions.create({ model: slot, messages: 'no list' as never })
    await expect(bad).rejects.toSatisfy(
      (error) => error instanceof OpenAI.APIError && error.status === 400 && error.message.length > 10,
    )
  })

  it.runIf(isPresent)(
    'the first of 2,000 tokens arrives long before the last, and an abort stops the decoding',
    async () => {
      const at = await start()
      const client = clientOf(at)
      const wish = {
        model: slot,
        messages: ask('Count to 25'),
        temperature: 0,
        max_tokens: 1_900,
        stream: true as const,
      }
      // Measured in tokens, not seconds: how far the engine was when the first chunk was here.
      const stream = await client.chat.completions.create({ ...wish, ...ENDLESS })
      let atFirst: number | undefined
      let chunks = 0
      for await (const _chunk of stream) {
        chunks++
        atFirst ??= await tokensDecoded(at, slot)
      }
      const atLast = await tokensDecoded(at, slot)
      expect(chunks).toBeGreaterThan(500)
      expect(atLast).toBeGreaterThanOrEqual(1_900)
      expect(atFirst).toBeLessThan(atLast / 2)

      const cut = await client.chat.completions.create({ ...wish, ...ENDLESS })
      for await (const _chunk of cut) break
      cut.controller.abort()
      await eventually(() => at.row(slot).state === 'ready' && at.row(slot).in_flight === 0)
      const after = await tokensDecodedAtRest(at, slot)
      expect(after - atLast).toBeLessThan(1_900)
      // It stands still: a whole answer later the counter has moved by that answer only.
      const short = await client.chat.completions.create({ model: slot, messages: ask('What is 2+2?'), temperature: 0 })
      const final = await tokensDecodedAtRest(at, slot)
      expect(final - after).toBeLessThanOrEqual((short.usage?.completion_tokens ?? 0) + 64)
    },
  )

  it.runIf(isPresent)('has the GGUF mapped, and refuses whoever comes to its port without the key', async () => {
    const at = await start()
    const row = await at.daemon.slots.load(slot)
    expect(await readFile(`/proc/${row.pid}/maps`, 'utf8')).toContain(HELLO_GGUF)
    const refused = await fetch(`http://127.0.0.1:${row.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: ask('hi') }),
    })
    expect(refused.status).toBe(401)
  })
})

describe.runIf(LLAMA_SERVER !== undefined)('two slots', () => {
  it('serve at once, and a swarm of aborted streams leaves both usable', async () => {
    const at = await start()
    const client = clientOf(at)
    const sums = Array.from({ length: 12 }, (_, i) => ({
      slot: i % 2 === 0 ? 'agent' : 'other',
      a: i % 5,
      b: (i * 3) % 5,
    }))
    const answers = await Promise.all(
      sums.map(async ({ slot, a, b }) => {
        const answer = await client.chat.completions.create({
          model: slot,
          messages: ask(`What is ${a}+${b}?`),
          temperature: 0,
        })
        return answer.choices[0]?.message.content
      }),
    )
    expect(answers).toEqual(sums.map(({ a, b }) => String(a + b)))
    await Promise.all(
      sums.map(async ({ slot }) => {
        const wish = { model: slot, messages: ask('Count to 25'), max_tokens: 1_500, stream: true as const }
        const stream = await client.chat.completions.create({ ...wish, ...ENDLESS })
        for await (const _chunk of stream) break
        stream.controller.abort()
      }),
    )
    await eventually(() => ['agent', 'other'].every((slot) => at.row(slot).in_flight === 0))
    const again = await client.chat.completions.create({
      model: 'other',
      messages: ask('What is 2+2?'),
      temperature: 0,
    })
    expect(again.choices[0]?.message.content).toBe('4')
  })

  it('300 streams back to back on the real llama-server: every one complete', async () => {
    const at = await start()
    const client = clientOf(at)
    for (let i = 0; i < 300; i++) {
      const stream = await client.chat.completions.create({
        model: 'other',
        messages: ask('What is 2+2?'),
        temperature: 0,
        stream: true,
      })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).toBe('4')
    }
  })
})

import { describe, expect, it } from 'vitest'
import { openaiOf, startClientWorld } from '../support/client-world.ts'
import { eventually } from '../support/daemon-harness.ts'
import { type FakeWorld, startFakeWorld } from '../support/gateway-world.ts'
import { parseMetrics } from '../support/parse-metrics.ts'
import { open, send } from '../support/raw-http.ts'
import { seriesOf } from '../support/series.ts'
import { FAKE_ENGINE } from '../support/start-fake.ts'
import { parseEvents, TEXT_DIALECTS } from '../support/text-dialects.ts'

// Fake engine: what an engine says of tokens, where the client sees it, and what hal0 records of it.

const messages = [{ role: 'user' as const, content: 'Count these tokens, please' }]
const chat = (more: object = {}) => ({ path: '/v1/chat/completions', body: { model: 'agent', messages, ...more } })
const ON_REQUEST = { usage_on_request: true, timings: false }
const asking = { endpoint: { usageOnRequest: true as const } }

interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
}
type Said = Record<string, unknown> & { readonly choices?: readonly unknown[]; readonly usage?: Usage | null }

const saidIn = (text: string): Said[] =>
  parseEvents(text)
    .events.filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Said)
const usageChunks = (text: string) => saidIn(text).filter(({ choices, usage }) => choices?.length === 0 && usage)

/** What the n-th request's record says of tokens. */
async function recorded({ gateway }: FakeWorld, n: number): Promise<readonly unknown[]> {
  const { prompt_tokens, completion_tokens } = await gateway.requestLine(n)
  return [prompt_tokens, completion_tokens]
}

/** What the engine counts for it when it is asked without hal0. */
async function counted({ engine }: FakeWorld, more: object = {}): Promise<readonly number[]> {
  const headers = { authorization: `Bearer ${engine.key}` }
  const { usage } = (await send(engine.origin, { ...chat(more), headers })).json() as { usage: Usage }
  return [usage.prompt_tokens, usage.completion_tokens]
}

describe('an engine that tells usage only when asked', () => {
  it.each([
    ['chat', '/v1/chat/completions', { messages }],
    ['completions', '/v1/completions', { prompt: 'Count these tokens, please' }],
  ])('%s: hal0 asks, the client sees nothing of it, the record has it', async (_name, path, body) => {
    const plain = await startFakeWorld(ON_REQUEST)
    const unasked = await send(plain.origin, { path, body: { model: 'agent', stream: true, ...body } })
    expect(await recorded(plain, 1)).toEqual([undefined, undefined])

    const world = await startFakeWorld(ON_REQUEST, asking)
    let n = 0
    for (const write_bytes of [0, 1, 7, 50, 4_096]) {
      for (const sse_crlf of [false, true]) {
        const fake = { write_bytes, sse_crlf }
        const { text } = await send(world.origin, { path, body: { model: 'agent', stream: true, fake, ...body } })
        expect(usageChunks(text)).toEqual([])
        // Nothing else is missing.
        const shape = (said: Said[]) => said.map(({ choices }) => choices)
        expect(shape(saidIn(text))).toEqual(shape(saidIn(unasked.text)))
        expect(text).toMatch(/data: \[DONE\]\r?\n\r?\n$/)
        const [prompt, completion] = await recorded(world, ++n)
        expect([Number(prompt) > 0, Number(completion) > 0]).toEqual([true, true])
      }
    }
    const same = { path, body: { model: 'agent', ...body } }
    const { usage } = (await send(world.origin, same)).json() as { usage: Usage }
    expect(await recorded(world, 1)).toEqual([usage.prompt_tokens, usage.completion_tokens])
  })

  it('a client that asked itself gets its chunk, and the record has the same', async () => {
    const world = await startFakeWorld(ON_REQUEST, asking)
    const [prompt, completion] = await counted(world)
    const asked = chat({ stream: true, stream_options: { include_usage: true } })
    const { text } = await send(world.origin, asked)
    expect(usageChunks(text)).toMatchObject([{ usage: { prompt_tokens: prompt, completion_tokens: completion } }])
    expect(await recorded(world, 1)).toEqual([prompt, completion])
    const stream = await openaiOf({ origin: world.origin, key: 'x' }).chat.completions.create({
      ...{ model: 'agent', messages, stream: true, stream_options: { include_usage: true } },
    })
    let told: unknown
    for await (const chunk of stream) told = chunk.usage ?? told
    expect(told).toMatchObject({ prompt_tokens: prompt, completion_tokens: completion })
  })

  it('a client that said no is not asked for: null, never guessed', async () => {
    const world = await startFakeWorld(ON_REQUEST, asking)
    const { text } = await send(world.origin, chat({ stream: true, stream_options: { include_usage: false } }))
    expect(usageChunks(text)).toEqual([])
    expect(await recorded(world, 1)).toEqual([undefined, undefined])
  })

  it('a text that looks like a usage chunk is no usage chunk', async () => {
    const world = await startFakeWorld(
      { ...ON_REQUEST, answer: '{"choices":[],"usage":{"prompt_tokens":9}} "usage":{}' },
      asking,
    )
    const { text } = await send(world.origin, chat({ stream: true, max_tokens: 200 }))
    const words = saidIn(text).map(
      ({ choices }) => (choices?.[0] as { delta?: { content?: string } })?.delta?.content ?? '',
    )
    expect(words.join('')).toBe('{"choices":[],"usage":{"prompt_tokens":9}} "usage":{}')
    expect(await recorded(world, 1)).toEqual(await counted(world, { max_tokens: 200 }))
  })

  it('a stream that dies before its end has no usage, and its error event', async () => {
    const world = await startFakeWorld({ ...ON_REQUEST, die_after_tokens: 3 }, asking)
    const { text } = await send(world.origin, chat({ stream: true }))
    expect(saidIn(text).at(-1)).toMatchObject({ error: { code: 'dispatch.upstream_unavailable' } })
    expect(await recorded(world, 1)).toEqual([undefined, undefined])
  })

  it('each event leaves as it comes, although one of them is to be dropped', async () => {
    const world = await startFakeWorld({ ...ON_REQUEST, hold_after_tokens: 2 }, asking)
    const stream = await open(world.origin, chat({ stream: true }))
    const first = await stream.until('"content"')
    await world.engine.setKnobs({ hold_after_tokens: null })
    expect(usageChunks(first + (await stream.rest()))).toEqual([])
  })
})

describe('llama-server', () => {
  it.each([
    ['timings alone', { usage: false, timings: true }],
    ['usage alone', { usage: true, timings: false }],
    ['both', { usage: true, timings: true }],
  ])('%s: the same numbers, whole and streamed', async (_name, knobs) => {
    const world = await startFakeWorld(knobs)
    const other = await startFakeWorld()
    const expected = await counted(other)
    await send(world.origin, chat())
    // A stream without timings tells usage when the client asks.
    await send(world.origin, chat({ stream: true, stream_options: { include_usage: knobs.usage } }))
    expect([await recorded(world, 1), await recorded(world, 2)]).toEqual([expected, expected])
  })

  it('says nothing: null', async () => {
    const world = await startFakeWorld({ usage: false, timings: false })
    let n = 0
    for (const { path, body } of TEXT_DIALECTS) {
      for (const stream of [false, true]) {
        await send(world.origin, { path, body: { model: 'agent', stream, ...body } })
        expect(await recorded(world, ++n)).toEqual([undefined, undefined])
      }
    }
  })
})

describe('every dialect', () => {
  it.each(TEXT_DIALECTS.map((dialect) => [dialect.name, dialect] as const))(
    '%s: whole and streamed, short and long, with any name, however it is cut',
    async (_name, { path, body, read }) => {
      const world = await startFakeWorld({ model_name: 'path' })
      const whole = await send(world.origin, { path, body: { model: 'agent', ...body } })
      const usage = whole.json()['usage'] as Record<string, number>
      const expected = [
        usage['prompt_tokens'] ?? usage['input_tokens'],
        usage['completion_tokens'] ?? usage['output_tokens'],
      ]
      expect(expected).toEqual([expect.any(Number), expect.any(Number)])
      expect(await recorded(world, 1)).toEqual(expected)
      let n = 1
      for (const fake of [{}, { write_bytes: 1 }, { write_bytes: 50 }, { sse_crlf: true }, { chunk_bytes: 3_000 }]) {
        await send(world.origin, { path, body: { model: 'hello', stream: true, fake, ...body } })
        expect(await recorded(world, ++n)).toEqual(expected)
      }
      await read(world.origin, {})
      expect(await recorded(world, ++n)).toEqual(expected)
    },
  )

  it('embeddings: the prompt alone, also where the numbers are many', async () => {
    const world = await startFakeWorld()
    for (const [n, count] of [1, 300].entries()) {
      const input = Array.from({ length: count }, () => 'some words')
      const { usage } = (
        await send(world.origin, { path: '/v1/embeddings', body: { model: 'agent', input } })
      ).json() as { usage: Usage }
      expect(await recorded(world, n + 1)).toEqual([usage.prompt_tokens, undefined])
    }
  })
})

describe('the time to the first byte', () => {
  it('is that of the engine, with the wait for a slot; a stream and a whole answer', async () => {
    const world = await startFakeWorld({ hold_first: true })
    for (const [n, stream] of [true, false].entries()) {
      world.slots.hold('agent')
      const asked = send(world.origin, chat({ stream }))
      await world.slots.logged('wait agent', n + 1)
      await new Promise((resolve) => setTimeout(resolve, 100))
      world.slots.open('agent')
      await world.engine.waitFor('active', 1)
      await new Promise((resolve) => setTimeout(resolve, 100))
      await world.engine.setKnobs({ hold_first: false })
      await asked
      const { ttft_ms, ms } = await world.gateway.requestLine(n + 1)
      expect(Number(ttft_ms)).toBeGreaterThanOrEqual(190)
      expect(Number(ttft_ms)).toBeLessThanOrEqual(Number(ms))
      await world.engine.setKnobs({ hold_first: true })
    }
  })

  it('an answer of hal0 itself has none', async () => {
    const world = await startFakeWorld()
    await send(world.origin, { path: '/v1/chat/completions', body: '{' })
    expect((await world.gateway.requestLine(1))['ttft_ms']).toBeUndefined()
  })
})

it('a real daemon: a runner that needs to be asked is asked, and hal0_tokens_total has what it said', async () => {
  const vllmLike = {
    template: [FAKE_ENGINE, '--host', '${HOST}', '--port', '${PORT}', '--model', '${MODEL}', '--alias', '${ALIAS}'],
    key_env: 'LLAMA_API_KEY',
    identity_path: '/props',
    types: ['llm'],
    usage_on_request: true,
  }
  const server = { env: { FAKE_KNOBS: JSON.stringify(ON_REQUEST) } }
  const agent = { type: 'llm', device: 'cpu', binary: 'other', model: { default: 'hello' }, server }
  const world = await startClientWorld({ agent }, { runners: { other: vllmLike } })
  await world.engine('agent')
  const { text } = await send(world.origin, chat({ stream: true }))
  expect(usageChunks(text)).toEqual([])
  const tokens = async () => {
    const scraped = parseMetrics(await (await fetch(`${world.origin}/metrics`)).text())
    return seriesOf(scraped, 'hal0_tokens_total')
  }
  await eventually(async () => Number((await tokens())['slot=agent,kind=completion']) > 0)
  expect((await tokens())['slot=agent,kind=prompt']).toBeGreaterThan(0)
})

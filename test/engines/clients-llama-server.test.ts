import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { anthropicOf, type ClientWorld, openaiOf, startClientWorld, thrownBy } from '../support/client-world.ts'
import { eventually } from '../support/daemon-harness.ts'
import type { SlotKeys } from '../support/gpu-daemon.ts'

const LLAMA_SERVER = process.env['HAL0_TEST_LLAMA_SERVER']
if (LLAMA_SERVER === undefined) console.warn('skipped: HAL0_TEST_LLAMA_SERVER does not name a llama-server')

const keys: SlotKeys = { device: 'cpu', binary: 'cpu', model: { default: 'hello' } }

/** The registered model `hello` as two slots on a real llama-server. */
const start = (settings: Readonly<Record<string, object>> = {}): Promise<ClientWorld> =>
  startClientWorld(
    {
      agent: { ...keys, type: 'llm', aliases: ['helper'] },
      embed: { ...keys, type: 'embedding' },
    },
    { ...settings, runners: { cpu: { binary: LLAMA_SERVER } } },
  )

const ask = (content: string) => [{ role: 'user' as const, content }]
const SUM = ask('What is 2+2?')
const TOOL = { name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' } } } }
/** Every name under which the slot can be asked for. */
const NAMES = ['agent', 'helper', 'hello', 'hal0/agent']
/** An extension of llama.cpp that the clients' types do not know. */
const ENDLESS = { ignore_eos: true } as object

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of stream) all.push(each)
  return all
}

describe.runIf(LLAMA_SERVER !== undefined)('the openai client on a real llama-server', () => {
  it('chat and completions, whole and streamed: the name that was asked for, and usage', async () => {
    const client = openaiOf(await start())
    for (const model of NAMES) {
      const whole = await client.chat.completions.create({ model, messages: SUM, temperature: 0 })
      expect(whole.choices[0]?.message.content).toBe('4')
      expect(whole.model).toBe(model)
      expect(whole.usage?.completion_tokens).toBeGreaterThan(0)

      const wish = { model, messages: SUM, temperature: 0, stream: true as const }
      const chunks = await collect(await client.chat.completions.create(wish))
      expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('4')
      expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set([model]))
      // Nobody asked for usage: no chunk without a choice.
      expect(chunks.filter((chunk) => chunk.choices.length === 0)).toEqual([])
      const counted = await collect(
        await client.chat.completions.create({ ...wish, stream_options: { include_usage: true } }),
      )
      expect(counted.at(-1)).toMatchObject({ model, choices: [], usage: { completion_tokens: expect.any(Number) } })

      const text = { model, prompt: 'The capital of France is', temperature: 0, max_tokens: 8 }
      const completion = await client.completions.create(text)
      expect(completion).toMatchObject({ model, usage: { completion_tokens: expect.any(Number) } })
      expect(completion.choices[0]?.text).toContain('Paris')
      const pieces = await collect(await client.completions.create({ ...text, stream: true }))
      expect(pieces.map((piece) => piece.choices[0]?.text ?? '').join('')).toBe(completion.choices[0]?.text)
      expect(new Set(pieces.map((piece) => piece.model))).toEqual(new Set([model]))
    }
  })

  it('tools pass through: accepted with none, auto and required', async () => {
    const client = openaiOf(await start())
    const tools = [{ type: 'function' as const, function: TOOL }]
    for (const tool_choice of ['none', 'auto', 'required'] as const) {
      const answer = await client.chat.completions.create({
        model: 'agent',
        messages: SUM,
        temperature: 0,
        max_tokens: 20,
        tools,
        tool_choice,
      })
      // The tiny model calls nothing, whatever it is told.
      expect(answer.choices[0]?.finish_reason).toMatch(/stop|tool_calls|length/)
      expect(answer.usage?.prompt_tokens).toBeGreaterThan(5)
    }
    // What the engine says of a broken tool reaches the client as its own error.
    const broken = [{ type: 'function' as const, function: { parameters: 7 } as never }]
    const error = await thrownBy(client.chat.completions.create({ model: 'agent', messages: SUM, tools: broken }))
    expect(error).toBeInstanceOf(OpenAI.APIError)
    expect((error as Error).message.length).toBeGreaterThan(10)
  })

  it('responses, whole and streamed', async () => {
    const client = openaiOf(await start())
    for (const model of NAMES) {
      const wish = { model, input: 'What is 2+2?', temperature: 0 }
      const whole = await client.responses.create(wish)
      expect(whole.output_text).toBe('4')
      expect(whole).toMatchObject({ model, status: 'completed', usage: { output_tokens: expect.any(Number) } })
      const events = await collect(await client.responses.create({ ...wish, stream: true }))
      expect(events[0]?.type).toBe('response.created')
      const last = events.at(-1)
      expect(last).toMatchObject({ type: 'response.completed', response: { model, status: 'completed' } })
      const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
      expect(text).toBe('4')
    }
  })

  it('embeddings of a slot of that type: a batch, packed and in floats alike', async () => {
    const client = openaiOf(await start())
    const input = ['What is 2+2?', 'The capital of France', 'The capital of France']
    const packed = await client.embeddings.create({ model: 'embed', input })
    const floats = await client.embeddings.create({ model: 'embed', input, encoding_format: 'float' })
    expect(packed.model).toBe('embed')
    expect(packed.usage.prompt_tokens).toBeGreaterThan(3)
    expect(packed.data.map(({ index }) => index)).toEqual([0, 1, 2])
    for (const [i, { embedding }] of packed.data.entries()) {
      const other = floats.data[i]?.embedding ?? []
      expect(other.length).toBeGreaterThan(8)
      expect(Array.from(embedding)).toEqual(other.map((x) => expect.closeTo(x, 4) as number))
    }
    const [first, second, third] = floats.data.map(({ embedding }) => embedding)
    expect(second).toEqual(third?.map((x) => expect.closeTo(x, 3) as number))
    expect(first).not.toEqual(second)
    // No name: the slot for the type.
    const unnamed = await client.post<{ data: unknown[] }>('/embeddings', { body: { input: 'x' } })
    expect(unnamed.data).toHaveLength(1)
  })

  it('an embedding input beyond the micro-batch is refused with the limit, not truncated', async () => {
    const client = openaiOf(await start())
    const error = await thrownBy(client.embeddings.create({ model: 'embed', input: 'word '.repeat(60_000) }))
    // hal0 launches such an engine with a micro-batch as large as its context: the context is the limit that is named.
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect((error as Error).message).toMatch(/context size \(\d+ tokens\)/)
  })

  it('tokenize', async () => {
    const client = openaiOf(await start())
    const body = { model: 'agent', content: 'What is 2+2?' }
    const { tokens } = await client.post<{ tokens: number[] }>('/tokenize', { body })
    expect(tokens.length).toBeGreaterThan(3)
    const pieces = await client.post<{ tokens: { piece: string }[] }>('/tokenize', {
      body: { ...body, with_pieces: true },
    })
    expect(pieces.tokens.map(({ piece }) => piece).join('')).toBe('What is 2+2?')
    const direct = await client.post<{ tokens: number[] }>('/../upstream/agent/tokenize', { body })
    expect(direct.tokens).toEqual(tokens)
  })

  it('lists its models and retrieves one', async () => {
    const client = openaiOf(await start())
    const listed = await collect(client.models.list())
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining(['agent', 'helper', 'embed', 'hello']))
    const agent = await client.models.retrieve('agent')
    expect(agent).toMatchObject({ id: 'agent', object: 'model' })
    expect(await thrownBy(client.models.retrieve('no-such'))).toBeInstanceOf(OpenAI.NotFoundError)
  })

  it('an abort by the controller frees the engine, in every dialect', async () => {
    const world = await start()
    const openai = openaiOf(world)
    const endless = { model: 'agent', max_tokens: 1_900, stream: true as const, ...ENDLESS }
    const streams = [
      () => openai.chat.completions.create({ ...endless, messages: ask('Count to 25') }),
      () => openai.completions.create({ ...endless, prompt: 'Once' }),
      () => openai.responses.create({ ...endless, input: 'Count to 25' }),
      () => anthropicOf(world).messages.create({ ...endless, messages: ask('Count to 25') }),
    ]
    for (const open of streams) {
      const stream = await open()
      for await (const event of stream as AsyncIterable<unknown>) {
        expect(event).toBeTypeOf('object')
        break
      }
      stream.controller.abort()
      await eventually(() => world.daemon.slots.row('agent')?.in_flight === 0)
    }
    const answer = await openai.chat.completions.create({ model: 'agent', messages: SUM, temperature: 0 })
    expect(answer.choices[0]?.message.content).toBe('4')
  })

  it('errors are typed: an unknown model, a bad body, a prompt beyond the context', async () => {
    const world = await start({ dispatcher: { unknown_model: 'reject' } })
    const client = openaiOf(world)
    const unknown = await thrownBy(client.chat.completions.create({ model: 'no-such', messages: SUM }))
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
    expect(unknown).toMatchObject({ code: 'model_not_found' })

    const bad = new TextEncoder().encode('{"model":"agent","messages":[}')
    const headers = { 'content-type': 'application/json' }
    const broken = await thrownBy(client.post('/chat/completions', { body: bad, headers }))
    expect(broken).toBeInstanceOf(OpenAI.BadRequestError)
    const missing = await thrownBy(client.chat.completions.create({ model: 'agent', messages: 'no list' as never }))
    expect(missing).toBeInstanceOf(OpenAI.APIError)
    expect((missing as Error).message.length).toBeGreaterThan(10)

    for (const stream of [true, false]) {
      const messages = ask('word '.repeat(5_000))
      const long = await thrownBy(client.chat.completions.create({ model: 'agent', messages, stream }))
      expect(long).toBeInstanceOf(OpenAI.BadRequestError)
      expect((long as Error).message).toMatch(/context size/)
    }
  })
})

describe.runIf(LLAMA_SERVER !== undefined)('the anthropic client on a real llama-server', () => {
  it('messages, whole and streamed, and count_tokens', async () => {
    const client = anthropicOf(await start())
    for (const model of NAMES) {
      const wish = { model, max_tokens: 8, temperature: 0, messages: SUM }
      const whole = await client.messages.create(wish)
      expect(whole).toMatchObject({ model, stop_reason: 'end_turn', content: [{ type: 'text', text: '4' }] })
      expect(whole.usage.output_tokens).toBeGreaterThan(0)
      const streamed = await client.messages.stream(wish).finalMessage()
      expect(streamed).toMatchObject({ model, stop_reason: 'end_turn', content: [{ type: 'text', text: '4' }] })
      expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens)
      const counted = await client.messages.countTokens({ model, messages: SUM })
      expect(counted.input_tokens).toBeGreaterThan(5)
    }
  })

  it('tools and a system prompt pass through', async () => {
    const client = anthropicOf(await start())
    const answer = await client.messages.create({
      model: 'agent',
      max_tokens: 20,
      system: 'You add.',
      messages: SUM,
      tools: [{ name: TOOL.name, input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'none' },
    })
    expect(answer.role).toBe('assistant')
    expect(answer.usage.output_tokens).toBeGreaterThan(0)
  })

  it('errors are typed: an unknown model, a prompt beyond the context', async () => {
    const client = anthropicOf(await start({ dispatcher: { unknown_model: 'reject' } }))
    const unknown = await thrownBy(client.messages.create({ model: 'no-such', max_tokens: 8, messages: SUM }))
    expect(unknown).toBeInstanceOf(Anthropic.NotFoundError)
    expect(unknown).toMatchObject({ type: 'not_found_error' })
    const messages = ask('word '.repeat(5_000))
    for (const stream of [true, false]) {
      const long = await thrownBy(client.messages.create({ model: 'agent', max_tokens: 8, messages, stream }))
      expect(long).toBeInstanceOf(Anthropic.BadRequestError)
      expect(long).toMatchObject({ type: 'invalid_request_error' })
      expect((long as Error).message).toMatch(/context size/)
    }
  })
})

describe.runIf(LLAMA_SERVER !== undefined)('CASES 44 on a real llama-server', () => {
  it('300 of 300 back to back, streamed and plain, on kept connections', async () => {
    const client = openaiOf(await start())
    const wish = { model: 'agent', messages: SUM, temperature: 0 }
    let good = 0
    for (let i = 0; i < 300; i++) {
      if (i % 3 === 2) {
        const answer = await client.chat.completions.create(wish)
        if (answer.choices[0]?.message.content === '4') good++
        continue
      }
      const chunks = await collect(await client.chat.completions.create({ ...wish, stream: true }))
      if (chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('') === '4') good++
    }
    expect(good).toBe(300)
  })
})

import { createHash } from 'node:crypto'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { anthropicOf, openaiOf, startClientWorld, startEngineAlone, type Target } from '../support/client-world.ts'

// What a real llama-server with a tiny model cannot show. Each test first passes against the fake engine alone: then a failure
// through hal0 is hal0's.

const TARGETS: readonly (readonly [string, () => Promise<Target>])[] = [
  ['a fake engine alone', () => startEngineAlone()],
  ['hal0 in front of fake engines', () => startClientWorld()],
]
const messages = [{ role: 'user' as const, content: 'Hello there' }]

describe.each(TARGETS)('official clients on %s', (name, start) => {
  const isThrough = name.startsWith('hal0')

  it('rerank: by slot name, by alias, and by no name at all', async () => {
    const client = openaiOf(await start())
    for (const model of ['rank', 'judge', undefined]) {
      const body = { model, query: 'cat', documents: ['dog', 'cat', 'cow'], top_n: 2 }
      const answer = await client.post<{ model: string; results: { index: number; relevance_score: number }[] }>(
        '/rerank',
        { body },
      )
      expect(answer.results).toHaveLength(2)
      expect(answer.results.find(({ relevance_score }) => relevance_score === 10)?.index).toBe(1)
      if (model !== undefined) expect(answer.model).toBe(model)
    }
  })

  it('embeddings: a batch, in base64 (what the client asks for by itself) and in floats alike', async () => {
    const client = openaiOf(await start())
    const input = ['one', 'two', 'three']
    const packed = await client.embeddings.create({ model: 'embed', input })
    const floats = await client.embeddings.create({ model: 'embed', input, encoding_format: 'float' })
    expect(packed.data.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(packed.model).toBe('embed')
    expect(packed.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
    for (const [i, { embedding }] of packed.data.entries()) {
      expect(Array.from(embedding)).toEqual(floats.data[i]?.embedding.map((x) => expect.closeTo(x, 6) as number))
    }
  })

  it('audio speech: the bytes of the engine, streamed and in one piece', async () => {
    const target = await start()
    const client = openaiOf(target)
    const engine = await target.engine('tts')
    const wish = { model: 'tts', voice: 'alloy', input: 'Good morning to all of you', response_format: 'wav' as const }
    const streamed = await client.audio.speech.create(wish)
    expect(streamed.headers.get('content-type')).toBe('audio/wav')
    const bytes = Buffer.from(await streamed.arrayBuffer())
    const whole = await client.audio.speech.create({ ...wish, stream: false } as typeof wish)
    const wholeBytes = Buffer.from(await whole.arrayBuffer())
    expect(whole.headers.get('content-length')).toBe(String(wholeBytes.length))
    // The same from an engine that nobody stands in front of.
    const alone = await startEngineAlone()
    const direct = Buffer.from(await (await openaiOf(alone).audio.speech.create(wish)).arrayBuffer())
    expect(sha256(bytes)).toBe(sha256(direct))
    expect(wholeBytes.length).toBe(bytes.length)
    expect((await engine.state()).by_path['/v1/audio/speech']).toBe(2)
  })

  it('audio transcriptions: 25 MB, with the model after the file', async () => {
    const target = await start()
    const bytes = Buffer.alloc(25 * 1024 * 1024, 'RIFF\r\n--')
    const file = new File([bytes], 'talk.wav', { type: 'audio/wav' })
    const answer = await openaiOf(target).audio.transcriptions.create({ file, model: 'ears' })
    // The engine knows itself by its slot's name.
    const seenModel = isThrough ? 'stt' : 'ears'
    expect(answer.text).toBe(
      `Heard talk.wav: ${bytes.length} bytes, sha256 ${sha256(bytes)}, model ${seenModel}, parts file model`,
    )
  })

  it.each(['text', 'srt', 'vtt'] as const)('audio transcriptions as %s: plain text', async (response_format) => {
    const file = new File([Buffer.from('abc')], 'a.wav')
    const answer: unknown = await openaiOf(await start()).audio.transcriptions.create({
      file,
      model: 'stt',
      response_format,
    })
    expect(answer).toContain(`Heard a.wav: 3 bytes, sha256 ${sha256(Buffer.from('abc'))}, model stt`)
  })

  it('audio transcriptions as a stream of events', async () => {
    const file = new File([Buffer.from('abc')], 'a.wav')
    const stream = await openaiOf(await start()).audio.transcriptions.create({ file, model: 'stt', stream: true })
    let said = ''
    let done: string | undefined
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') said += event.delta
      if (event.type === 'transcript.text.done') done = event.text
    }
    expect(said).toMatch(/^Heard a\.wav: 3 bytes/)
    expect(done).toBe(said)
  })

  it('images: two PNGs in base64', async () => {
    const answer = await openaiOf(await start()).images.generate({
      model: 'paint',
      prompt: 'a fox',
      n: 2,
      response_format: 'b64_json',
    })
    expect(answer.data).toHaveLength(2)
    for (const { b64_json } of answer.data ?? []) {
      expect(Buffer.from(b64_json ?? '', 'base64').toString('latin1')).toMatch(/^\x89PNG/)
    }
  })

  it('tools, images and unknown keys reach the engine as they were sent', async () => {
    const target = await start()
    const engine = await target.engine('agent')
    const body = {
      model: 'agent',
      messages: [
        {
          role: 'user' as const,
          content: [
            { type: 'text' as const, text: 'Look: ünïcödé 💡' },
            { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${'iVBORw0KGgo'.repeat(50)}` } },
          ],
        },
      ],
      tools: [{ type: 'function' as const, function: { name: 'add', parameters: { type: 'object' } } }],
      tool_choice: 'none' as const,
      x_unknown: [1e3, '\u2028', { model: 'nested' }],
    }
    const { data } = await openaiOf(target).chat.completions.create(body).withResponse()
    expect(data.choices[0]?.message.content).toContain('Look: ünïcödé 💡')
    expect((await engine.state()).last_request?.body_sha256).toBe(sha256(Buffer.from(JSON.stringify(body))))
  })

  it('responses and messages: whole and streamed alike', async () => {
    const target = await start()
    const openai = openaiOf(target)
    const whole = await openai.responses.create({ model: 'agent', input: 'Hello there' })
    expect(whole.output_text).toMatch(/^Echo [0-9a-f]{8}: Hello there$/)
    expect(whole.usage).toMatchObject({ output_tokens: 8 })
    let text = ''
    // The helper `responses.stream` wants indexes that llama-server does not send.
    for await (const event of await openai.responses.create({ model: 'agent', input: 'Hello there', stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    expect(text).toBe(whole.output_text)

    const anthropic = anthropicOf(target)
    const wish = { model: 'agent', max_tokens: 50, messages }
    const message = await anthropic.messages.create(wish)
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 8 } })
    const final = await anthropic.messages.stream(wish).finalMessage()
    expect(final.content).toEqual(message.content)
    expect(final.usage).toMatchObject({ input_tokens: message.usage.input_tokens, output_tokens: 8 })
    const counted = await anthropic.messages.countTokens({ model: 'agent', messages })
    expect(counted.input_tokens).toBe(message.usage.input_tokens)
  })
})

describe('hal0 in front of fake engines that call their model by its file', () => {
  // CASES 10.
  const start = async () => {
    const world = await startClientWorld()
    await (await world.engine('agent')).setKnobs({ model_name: 'path' })
    return world
  }

  it.each(['agent', 'helper', 'hal0/agent', 'hello'])(
    'every answer and event says "%s" when asked so',
    async (model) => {
      const world = await start()
      const openai = openaiOf(world)
      const anthropic = anthropicOf(world)
      const said: unknown[] = []
      said.push((await openai.chat.completions.create({ model, messages })).model)
      said.push((await openai.completions.create({ model, prompt: 'x' })).model)
      said.push((await openai.responses.create({ model, input: 'x' })).model)
      said.push((await anthropic.messages.create({ model, max_tokens: 5, messages })).model)
      for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
        said.push(chunk.model)
      }
      for await (const chunk of await openai.completions.create({ model, prompt: 'x', stream: true })) {
        said.push(chunk.model)
      }
      for await (const event of await openai.responses.create({ model, input: 'x', stream: true })) {
        if (event.type === 'response.completed') said.push(event.response.model)
      }
      for await (const event of await anthropic.messages.create({ model, max_tokens: 5, messages, stream: true })) {
        if (event.type === 'message_start') said.push(event.message.model)
      }
      expect(said.length).toBeGreaterThan(12)
      expect(new Set(said)).toEqual(new Set([model]))
    },
  )

  it('usage comes from an engine that tells it only on request, and the chunk nobody asked for is dropped', async () => {
    const world = await start()
    await (await world.engine('agent')).setKnobs({ usage_on_request: true, timings: false })
    const openai = openaiOf(world)
    const usages: unknown[] = []
    const wish = { model: 'agent', messages, stream: true as const }
    for await (const chunk of await openai.chat.completions.create(wish)) usages.push(chunk.usage, chunk.choices.length)
    expect(new Set(usages)).toEqual(new Set([undefined, 1]))
    const asked = await openai.chat.completions.create({ ...wish, stream_options: { include_usage: true } })
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of asked) usage = chunk.usage ?? usage
    expect(usage).toMatchObject({ completion_tokens: 8 })
  })
})

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { createLlamaCppRunner } from '../../src/runners/llama-cpp.ts'
import { post } from '../contract/runner-client.ts'
import { HELLO, spawnEngine, type TestEngine, untilHealthy } from '../contract/runner-engines.ts'

const llamaServer = process.env['HAL0_TEST_LLAMA_SERVER']
if (llamaServer === undefined) console.log('skipped: needs HAL0_TEST_LLAMA_SERVER=/path/to/llama-server')

/** A one-digit sum whose answer the model knows: 0+0 … 9+9. */
const sum = (): string => `What is ${randomInt(10)}+${randomInt(10)}?`

const PROMPTS = [sum(), sum(), 'What is the capital of France?', 'Tell me a story']

interface Answer {
  readonly text: string
  readonly finish: string | null
  readonly promptTokens: number
  readonly completionTokens: number
}

async function chat(engine: TestEngine, content: string, more: object = {}): Promise<Answer> {
  const { status, json } = await post(engine, '/v1/chat/completions', {
    messages: [{ role: 'user', content }],
    temperature: 0,
    ...more,
  })
  expect(status).toBe(200)
  return {
    text: json.choices[0].message.content,
    finish: json.choices[0].finish_reason,
    promptTokens: json.usage.prompt_tokens,
    completionTokens: json.usage.completion_tokens,
  }
}

describe.skipIf(llamaServer === undefined)('embedded engine and llama-server on the same file', () => {
  let embedded: TestEngine
  let real: TestEngine

  beforeAll(async () => {
    const runner = createLlamaCppRunner({
      key: 'cpu',
      title: 'llama-server',
      binary: llamaServer ?? '',
      env: process.env,
    })
    const started = [await spawnEngine(createEmbeddedRunner()), await spawnEngine(runner)] as const
    embedded = started[0]
    real = started[1]
    await Promise.all(started.map((engine) => untilHealthy(engine)))
  })
  afterAll(() => Promise.all([embedded?.stop(), real?.stop()]))

  it.each(PROMPTS)('gives the same text and token counts: %s', async (prompt) => {
    const [ours, theirs] = [await chat(embedded, prompt), await chat(real, prompt)]
    console.log(
      `drawn: ${prompt} -> ${JSON.stringify(ours.text)} (${ours.promptTokens} + ${ours.completionTokens} tokens)`,
    )
    expect(ours).toEqual(theirs)
    expect(ours.text).not.toBe('')
    const numbers = /(\d)\+(\d)/.exec(prompt)
    if (numbers !== null) expect(ours.text).toBe(`${Number(numbers[1]) + Number(numbers[2])}`)
  })

  it.each([
    ['a stop text', { stop: ['lived'] }],
    ['a stop text that is split over tokens', { stop: ['small model'] }],
    ['max_tokens', { max_tokens: 9 }],
  ])('ends at the same place with %s', async (_what, more) => {
    expect(await chat(embedded, 'Tell me a story', more)).toEqual(await chat(real, 'Tell me a story', more))
  })

  it('fills the window to the same last token with ignore_eos', async () => {
    const body = { prompt: 'hi', max_tokens: 100_000, ignore_eos: true, temperature: 0 }
    const usages = []
    for (const engine of [embedded, real]) {
      const { json } = await post(engine, '/v1/completions', body)
      expect(json.choices[0].finish_reason).toBe('length')
      usages.push([json.usage.prompt_tokens, json.usage.completion_tokens])
    }
    expect(usages[0]).toEqual(usages[1])
  })

  it('renders conversations alike: system, parts, an answer that was begun', async () => {
    const conversations = [
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Say tiger' },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is' },
            { type: 'text', text: '2+2?' },
          ],
        },
      ],
      [
        { role: 'user', content: 'Tell me a story' },
        { role: 'assistant', content: 'Once upon' },
      ],
    ]
    for (const messages of conversations) {
      const ours = await post(embedded, '/apply-template', { messages })
      expect(ours.json.prompt).toBe((await post(real, '/apply-template', { messages })).json.prompt)
    }
  })

  it('tokenizes alike, control tokens and characters of several bytes included', async () => {
    for (const content of ['hello 12', '<|im_start|>user\nhi<|im_end|>', 'Grüße, 世界 🦙', '  two  spaces ', '']) {
      for (const parse_special of [true, false]) {
        const ours = await post(embedded, '/tokenize', { content, parse_special })
        const theirs = await post(real, '/tokenize', { content, parse_special })
        expect(ours.json, content).toEqual(theirs.json)
        const back = await post(embedded, '/detokenize', { tokens: ours.json.tokens })
        expect(back.json, content).toEqual((await post(real, '/detokenize', { tokens: theirs.json.tokens })).json)
      }
    }
  })

  it('has the file mapped, not copied', async () => {
    const maps = await readFile(`/proc/${embedded.child.pid}/maps`, 'utf8')
    expect(maps.split('\n').filter((line) => line.endsWith(HELLO))).not.toEqual([])
  })
})

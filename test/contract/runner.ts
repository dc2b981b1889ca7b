import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assembleLaunch } from '../../src/launch/rules/assemble-launch.ts'
import type { EngineFacts, Runner } from '../../src/runners/runner.ts'
import { launchRequest } from '../support/launch-request.ts'
import { eventsOf, firstChunk, get, metric, open, post } from './runner-client.ts'
import { ALIAS, type TestEngine, until } from './runner-engines.ts'

const CHAT = '/v1/chat/completions'
const WINDOW_TOKENS = 2048
const ask = (text: string, more: object = {}): object => ({
  messages: [{ role: 'user', content: text }],
  temperature: 0,
  ...more,
})
const longStream = { prompt: 'Tell me a story', max_tokens: 2000, ignore_eos: true, stream: true, temperature: 0 }

/** An engine that is up, with the window 2048; knows its key. */
export type StartEngine = () => Promise<TestEngine>

/**
 * What hal0 relies on in every engine that speaks llama-server's dialect, whatever it answers. Source: SPEC 5, 10.
 * One engine serves all cases; each leaves it idle.
 */
export function runnerContract(name: string, startEngine: StartEngine, options: { skip?: boolean } = {}): void {
  describe.skipIf(options.skip === true)(`runner: ${name}`, () => {
    let engine: TestEngine
    beforeAll(async () => {
      engine = await startEngine()
    })
    afterAll(() => engine?.stop())

    const idle = (): Promise<void> =>
      until('the engine is idle', 10_000, async () => (await metric(engine, 'requests_processing')) === 0)

    describe('probe and identity', () => {
      it('answers /health without a key', async () => {
        expect(await get(engine, '/health', {})).toMatchObject({ status: 200, json: { status: 'ok' } })
      })

      it('lists its model under the alias, with the key; without it at most as much', async () => {
        const listed = await get(engine, '/v1/models')
        expect(listed.json.data.map((model) => model.id)).toEqual([ALIAS])
        expect([200, 401]).toContain((await get(engine, '/v1/models', {})).status)
      })

      it('proves its identity at /props: 200 with the key, 401 without or with another', async () => {
        const props = await get(engine, '/props')
        expect(props.status).toBe(200)
        expect(props.json.total_slots).toBeGreaterThanOrEqual(1)
        expect((await get(engine, '/props', { 'x-api-key': engine.key })).status).toBe(200)
        const wrong = engine.key.replace(/.$/, 'X')
        for (const headers of [{}, { authorization: `Bearer ${wrong}` }, { authorization: 'Bearer ' }]) {
          const refused = await get(engine, '/props', headers)
          expect(refused.status).toBe(401)
          expect(refused.json.error.type).toBe('authentication_error')
        }
      })

      it('decodes nothing without the key', async () => {
        const before = await metric(engine, 'tokens_predicted_total')
        const stranger = { origin: engine.origin, key: 'nobody' }
        expect((await post(stranger, CHAT, ask('Say tiger'))).status).toBe(401)
        expect(await metric(engine, 'tokens_predicted_total')).toBe(before)
      })

      it('answers 404 to a route it does not have', async () => {
        expect(await get(engine, '/no/such/route')).toMatchObject({ status: 404, json: { error: { code: 404 } } })
      })
    })

    describe('answers', () => {
      it('chats, with usage that adds up', async () => {
        const { status, json } = await post(engine, CHAT, ask('Say tiger'))
        expect(status).toBe(200)
        expect(json).toMatchObject({ object: 'chat.completion', model: ALIAS })
        expect(json.choices).toHaveLength(1)
        expect(json.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } })
        expect(json.choices[0].message.content).toContain('tiger')
        const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = json.usage
        expect(prompt).toBeGreaterThan(0)
        expect(completion).toBeGreaterThan(0)
        expect(total).toBe(prompt + completion)
      })

      it('streams the same text as the plain answer, then [DONE]; usage only when asked', async () => {
        const plain = await post(engine, CHAT, ask('Tell me a story'))
        const stream = await post(engine, CHAT, ask('Tell me a story', { stream: true }))
        const { events: chunks, done } = eventsOf(stream.text)
        expect(done).toBe(true)
        const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
        expect(text).toBe(plain.json.choices[0].message.content)
        expect(chunks.filter((chunk) => chunk.choices[0]?.delta.role === 'assistant')).toHaveLength(1)
        expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason ?? null).filter((r) => r !== null)).toEqual([
          'stop',
        ])
        expect(chunks.filter((chunk) => chunk.choices.length === 0)).toEqual([])

        const counted = await post(
          engine,
          CHAT,
          ask('Tell me a story', { stream: true, stream_options: { include_usage: true } }),
        )
        const usages = eventsOf(counted.text).events.filter((event) => event.choices.length === 0)
        expect(usages).toHaveLength(1)
        expect(usages[0]?.usage.completion_tokens).toBe(plain.json.usage.completion_tokens)
      })

      it('obeys max_tokens: finish_reason length and so many tokens', async () => {
        const { json } = await post(engine, CHAT, ask('Tell me a story', { max_tokens: 7, ignore_eos: true }))
        expect(json.choices[0].finish_reason).toBe('length')
        expect(json.usage.completion_tokens).toBe(7)
      })

      it('goes on past the end with ignore_eos', async () => {
        const short = await post(engine, CHAT, ask('Say tiger'))
        const { json } = await post(engine, CHAT, ask('Say tiger', { max_tokens: 200, ignore_eos: true }))
        expect(short.json.usage.completion_tokens).toBeLessThan(200)
        expect(json.usage.completion_tokens).toBe(200)
        expect(json.choices[0].finish_reason).toBe('length')
      })

      it('completes a text on /v1/completions and /completion', async () => {
        const body = { prompt: 'The capital of France is', temperature: 0, max_tokens: 8, n_predict: 8 }
        const openai = await post(engine, '/v1/completions', body)
        expect(openai.json).toMatchObject({ object: 'text_completion', choices: [{ index: 0 }] })
        expect(openai.json.choices[0].text).toContain('Paris')
        const native = await post(engine, '/completion', body)
        expect(native.json).toMatchObject({ content: openai.json.choices[0].text, stop: true })
      })

      it('tokenizes and back', async () => {
        const { json } = await post(engine, '/tokenize', { content: 'hello 12' })
        expect(json.tokens.length).toBeGreaterThan(0)
        expect(json.tokens.every(Number.isInteger)).toBe(true)
      })
    })

    describe('refusals', () => {
      it.each([
        ['broken JSON', '{"messages": [', 400],
        ['no messages', {}, 400],
        ['messages that are no list', { messages: 'hello' }, 400],
      ])('answers 400 to %s, and serves on', async (_what, body, status) => {
        const refused = await post(engine, CHAT, body)
        expect(refused.status).toBe(status)
        expect(refused.json.error).toMatchObject({ code: 400, type: 'invalid_request_error' })
        expect(refused.json.error.message).not.toBe('')
        expect((await post(engine, CHAT, ask('Say tiger'))).status).toBe(200)
      })

      it('names both numbers when the prompt exceeds the window', async () => {
        const refused = await post(engine, '/v1/completions', { prompt: 'a b c d '.repeat(WINDOW_TOKENS) })
        expect(refused.status).toBe(400)
        expect(refused.json.error).toMatchObject({ type: 'exceed_context_size_error', n_ctx: WINDOW_TOKENS })
        expect(refused.json.error.n_prompt_tokens).toBeGreaterThan(WINDOW_TOKENS)
      })
    })

    describe('many clients', () => {
      it('decodes two streams at once', async () => {
        const first = open(engine, '/v1/completions', longStream)
        const second = open(engine, '/v1/completions', longStream)
        // Neither is read to its end, so both have begun while neither was over.
        const begun = await Promise.all([firstChunk(first), firstChunk(second)])
        expect(begun.map((chunk) => chunk.startsWith('data: '))).toEqual([true, true])
        first.leave()
        second.leave()
        await idle()
      })

      it('never mixes answers that are decoded at once', async () => {
        const prompts = [
          'Tell me a story',
          'Count to 25',
          'List the days of the week',
          'What is a slot?',
          'Count to ten',
        ]
        const content = async (prompt: string): Promise<unknown> =>
          (await post(engine, CHAT, ask(prompt))).json.choices[0].message.content
        const alone = new Map<string, unknown>()
        for (const prompt of prompts) alone.set(prompt, await content(prompt))
        // An engine that mixed them did so in one answer of twelve.
        for (let round = 0; round < 10; round++) {
          const asked = Array.from({ length: 10 }, (_, i) => prompts[(i * 3 + round) % prompts.length] ?? '')
          const answers = await Promise.all(asked.map(content))
          expect(answers).toEqual(asked.map((prompt) => alone.get(prompt)))
        }
      })

      it('answers more requests at once than it has sequences', async () => {
        const { json } = await get(engine, '/props')
        const plain = await post(engine, CHAT, ask('Tell me a story'))
        const many = Array.from({ length: json.total_slots * 3 }, () => post(engine, CHAT, ask('Tell me a story')))
        for (const answer of await Promise.all(many)) {
          expect(answer.json.choices[0].message.content).toBe(plain.json.choices[0].message.content)
        }
      })

      it('stops decoding when a client leaves mid-stream: its counter stands still short of the rest', async () => {
        await idle()
        const before = await metric(engine, 'tokens_predicted_total')
        const stream = open(engine, '/v1/completions', longStream)
        await firstChunk(stream)
        stream.leave()
        await idle()
        const after = await metric(engine, 'tokens_predicted_total')
        expect(after - before).toBeLessThan(longStream.max_tokens)
        expect((await post(engine, CHAT, ask('Say tiger'))).json.choices[0].message.content).toContain('tiger')
      })
    })

    // Last: it ends the engine.
    it('ends on SIGTERM once its clients have gone, and its port is free', async () => {
      const stream = open(engine, '/v1/completions', longStream)
      await firstChunk(stream)
      stream.leave()
      // A slot revokes its leases before it stops the engine (SPEC 4): a llama-server that is told in the middle of a stream may
      // wait for ever, and needs the slot's SIGKILL.
      await idle()
      engine.child.kill('SIGTERM')
      const { signal } = await engine.exited
      expect(signal === null || signal === 'SIGTERM').toBe(true)
      await expect(fetch(`${engine.origin}/health`)).rejects.toThrow()
    })
  })
}

/** The flags that every launch of this dialect holds. Source: SPEC 9 "base", "slot". */
const BASE_FLAGS = ['--host', '--port', '--model', '--alias', '--ctx-size', '--n-gpu-layers', '--threads', '--metrics']

/** What hal0 relies on in what a runner says about its engine. Source: SPEC 9 "--help", 10. */
export function describeContract(name: string, runner: Runner, options: { skip?: boolean } = {}): void {
  describe.skipIf(options.skip === true)(`runner: ${name} describes its engine`, () => {
    let facts: EngineFacts
    beforeAll(async () => {
      facts = await runner.describe(await runner.findCommand())
    })

    it.each(BASE_FLAGS)('knows %s', (flag) => {
      const option = facts.help?.flags.get(flag)
      expect(option?.names).toContain(flag)
      expect(option?.values).toBe(flag === '--metrics' ? 0 : 1)
    })

    it('knows the short spellings as the same options', () => {
      for (const [long, short] of [
        ['--model', '-m'],
        ['--ctx-size', '-c'],
        ['--n-gpu-layers', '-ngl'],
      ] as const) {
        expect(facts.help?.flags.get(short)).toBe(facts.help?.flags.get(long))
      }
    })

    it('knows no flag that only a description names, or nobody', () => {
      expect(facts.help?.flags.has('--frobnicate')).toBe(false)
      expect([...(facts.help?.flags.keys() ?? [])].filter((flag) => !/^--?[A-Za-z][\w.-]*$/.test(flag))).toEqual([])
    })

    it('says what the build can do', () => {
      expect(Object.keys(facts.abilities).toSorted()).toEqual(['drafter', 'jinja', 'mmproj', 'mtp', 'ngram'])
      expect(facts.abilities.jinja).toBe(true)
      expect(facts.abilities.mmproj).toBe(facts.help?.flags.has('--mmproj'))
    })

    it('says its version in one line', () => {
      expect(facts.version).toMatch(/^version: \S.*$/)
    })

    it('leaves nothing out as needless that the engine takes', () => {
      const { dialect, noEffect } = runner
      const { help, abilities } = facts
      const taken = [...noEffect].filter((flag) => help?.flags.has(flag) === true)
      const words = taken.flatMap((flag) => [flag, ...Array<string>(help?.flags.get(flag)?.values ?? 0).fill('1')])
      const engine = { dialect, noEffect, help, abilities }
      const launch = assembleLaunch(launchRequest({ engine, profile: { flags: words } }))
      if (!launch.ok) throw launch.error
      expect(launch.value.removed.filter(({ reason }) => reason === 'no_effect')).toEqual([])
    })

    it('answers the same facts again', async () => {
      expect((await runner.describe(await runner.findCommand())).help).toBe(facts.help)
    })
  })
}

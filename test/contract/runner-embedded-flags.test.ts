import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { explainFailure } from '../../src/runners/rules/explain-failure.ts'
import { get, post } from './runner-client.ts'
import { spawnEngine, type TestEngine, untilHealthy } from './runner-engines.ts'

/** Says in the prompt whether it was told about thinking. */
const TEMPLATE =
  "{{ 'think=' ~ enable_thinking ~ ' level=' ~ level ~ ';' }}{% for m in messages %}{{ m['content'] }}{% endfor %}"

const runner = createEmbeddedRunner()
const messages = [{ role: 'user', content: 'Say tiger' }]

describe('embedded engine: what its flags say of requests that do not', () => {
  let folder: string
  let engine: TestEngine
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-embedded-'))
    const template = join(folder, 'chat template.jinja')
    await writeFile(template, TEMPLATE)
    engine = await untilHealthy(
      await spawnEngine(runner, {
        flags: [
          ...['--temp', '0', '--top-k', '7', '--seed', '5', '--n-predict', '3', '--repeat-penalty', '1.1'],
          ...['--chat-template-file', template, '--reasoning', 'off', '--chat-template-kwargs', '{"level": "low"}'],
        ],
      }),
    )
  })
  afterAll(async () => {
    await engine?.stop()
    await rm(folder, { recursive: true })
  })
  const prompt = async (more: object = {}): Promise<unknown> => {
    const { text } = await post(engine, '/apply-template', { messages, ...more })
    return JSON.parse(text)
  }

  it('shows them as its defaults', async () => {
    const props = JSON.parse((await get(engine, '/props')).text) as {
      chat_template: string
      default_generation_settings: { params: object }
    }
    expect(props.default_generation_settings.params).toMatchObject({
      temperature: 0,
      top_k: 7,
      seed: 5,
      n_predict: 3,
      repeat_penalty: 1.1,
    })
    expect(props.chat_template).toBe(TEMPLATE)
  })

  it('stops after so many tokens, unless the request says otherwise', async () => {
    const body = { prompt: 'Tell me a story', ignore_eos: true }
    expect((await post(engine, '/v1/completions', body)).json.usage.completion_tokens).toBe(3)
    const longer = await post(engine, '/v1/completions', { ...body, max_tokens: 5 })
    expect(longer.json.usage.completion_tokens).toBe(5)
  })

  it('renders the file instead of the own template, with the variables of the command line', async () => {
    expect(await prompt()).toEqual({ prompt: 'think=false level=low;Say tiger' })
  })

  it('lets the variables of a request win, one by one', async () => {
    expect(await prompt({ chat_template_kwargs: { enable_thinking: true } })).toEqual({
      prompt: 'think=true level=low;Say tiger',
    })
  })
})

describe('embedded engine: a template file that cannot be read', () => {
  it('ends the start with a line that names it', async () => {
    const engine = await spawnEngine(runner, { flags: ['--chat-template-file', '/nowhere/chat.jinja'] })
    try {
      expect(await engine.exited).toEqual({ code: 1, signal: null })
      const found = explainFailure(engine.output().split('\n'), runner.signatures)
      expect(found).toMatchObject({ cause: 'bad_file' })
      expect(found?.line).toContain("'/nowhere/chat.jinja'")
    } finally {
      await engine.stop()
    }
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SEED_PROFILES } from '../../src/config/profiles/seed-profiles.ts'
import { argvOf, type LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { ProfileBody } from '../../src/contract/profile.ts'
import type { SlotType } from '../../src/contract/slot-row.ts'
import { assembleLaunch } from '../../src/launch/rules/assemble-launch.ts'
import type { AssembledLaunch, LaunchEngine, LaunchProfile } from '../../src/launch/rules/launch-request.ts'
import { splitWords } from '../../src/launch/split-words.ts'
import { parseArgs } from '../../src/runners/embedded/rules/parse-args.ts'
import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { createLlamaCppRunner } from '../../src/runners/llama-cpp.ts'
import { abilitiesOf } from '../../src/runners/rules/engine-facts.ts'
import type { Runner } from '../../src/runners/runner.ts'
import { HELLO, until } from '../contract/runner-engines.ts'
import { freePort } from '../support/free-port.ts'
import { engineHelp } from '../support/launch-request.ts'

const LLAMA_SERVER = process.env['HAL0_TEST_LLAMA_SERVER']
if (LLAMA_SERVER === undefined) console.log('skipped: needs HAL0_TEST_LLAMA_SERVER=/path/to/llama-server')

const runner = createLlamaCppRunner({
  key: 'cpu',
  title: 'llama-server',
  binary: LLAMA_SERVER ?? '/nowhere/llama-server',
  env: process.env,
})
const KEY = 'seed-profiles-key'

const embedded = createEmbeddedRunner()

/** Seed profiles whose engine is a llama-server, with the type of the slots they are for. */
const LLAMA_SEEDS = Object.entries(SEED_PROFILES)
  .filter(([, { runner: key }]) => key === undefined)
  .map(([name, body]): readonly [string, SlotType, ProfileBody] => {
    if (name === 'embedding' || name === 'reranking') return [name, name, body]
    return [name, 'llm', body]
  })

const wordsOf = (flags: ProfileBody['flags']): readonly string[] => {
  if (typeof flags !== 'string') return flags ?? []
  const words = splitWords(flags)
  if (!words.ok) throw new Error(words.error)
  return words.value
}

async function engineOf(from: Runner): Promise<LaunchEngine> {
  const command = await from.findCommand()
  const { abilities, help } = await from.describe(command)
  const { key, dialect, noEffect, keyEnv } = from
  return { key, dialect, abilities, help, noEffect, command, keyEnv }
}

/** For a slot named like its profile, with the bundled model. */
async function assemble(
  engine: LaunchEngine,
  name: string,
  type: SlotType,
  body: ProfileBody,
): Promise<AssembledLaunch> {
  const profile: LaunchProfile = {
    name,
    flags: wordsOf(body.flags),
    ctxTokens: body.ctx_size,
    enableThinking: body.enable_thinking,
    reasoningEffort: body.reasoning_effort,
    reasoningBudget: body.reasoning_budget,
    vision: body.vision,
    speculation: body.speculation,
  }
  const launch = assembleLaunch({
    slot: name,
    type,
    device: 'cpu',
    port: await freePort(),
    engine,
    model: {
      id: 'hello',
      path: HELLO,
      architecture: 'llama',
      nativeCtxTokens: 2048,
      chatTemplate: null,
      mmproj: null,
      drafter: null,
      mtp: null,
      tags: [],
      jinja: null,
    },
    profile,
    tune: {},
    nGpuLayers: -1,
    threads: 1,
    gpus: undefined,
    env: {},
  })
  if (!launch.ok) throw launch.error
  return launch.value
}

let child: ChildProcess | undefined
afterEach(async () => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
})

/** Until `/health` is 200; rejects with its last words when it ends before. */
async function start(plan: LaunchPlan): Promise<void> {
  const [program, ...args] = argvOf(plan)
  const started = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], ...plan.env, ...(plan.keyEnv === undefined ? {} : { [plan.keyEnv]: KEY }) },
  })
  child = started
  let words = ''
  started.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = `${words}${text}`.slice(-4000)
  })
  await until(`the engine is healthy`, 60_000, async () => {
    if (started.exitCode !== null || started.signalCode !== null) throw new Error(`it ended:\n${words}`)
    const response = await fetch(`http://127.0.0.1:${plan.port}/health`).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status === 200
  })
}

describe.skipIf(LLAMA_SERVER === undefined)('llama-server, started with', () => {
  let engine: LaunchEngine
  beforeAll(async () => {
    engine = await engineOf(runner)
  })

  it('some seed profile', () => {
    expect(LLAMA_SEEDS.map(([name]) => name).toSorted()).toEqual([
      'agent',
      'brain',
      'chat',
      'coding',
      'cpu-chat',
      'embedding',
      'reranking',
      'utility',
    ])
  })

  it.each(LLAMA_SEEDS)('the seed profile %s', async (name, type, body) => {
    const { plan, removed, ctx } = await assemble(engine, name, type, body)
    expect(removed).toEqual([])
    expect(ctx.ctxTokens).toBe(body.ctx_size ?? 2048)
    await start(plan)
    const props = await fetch(`http://127.0.0.1:${plan.port}/props`, { headers: { authorization: `Bearer ${KEY}` } })
    expect(await props.json()).toMatchObject({ model_path: HELLO, model_alias: name })
  })

  const ODD_WORDS = [
    ...['--json-schema', '{"type": "object", "description": "a # b \\\\ \\"c\\""}'],
    ...['--reverse-prompt', '# not a comment  '],
    ...['--reverse-prompt', "it's $HOME `id` \\n *"],
    ...['--samplers', 'top_k;temperature'],
  ]
  it.each<readonly [string, ProfileBody['flags']]>([
    ['as a list of words', ODD_WORDS],
    [
      'as one string',
      `--json-schema '{"type": "object", "description": "a # b \\\\ \\"c\\""}' --reverse-prompt "# not a comment  "
       --reverse-prompt "it's \\$HOME \\\`id\\\` \\\\n *" --samplers 'top_k;temperature'`,
    ],
  ])('odd values %s: the process has them word for word', async (_how, flags) => {
    const { plan } = await assemble(engine, 'odd', 'llm', { flags })
    await start(plan)
    const commandLine = await readFile(`/proc/${child?.pid}/cmdline`, 'utf8')
    const words = commandLine.split('\0').slice(0, -1)
    // What stands before is the program's own affair: a script may have given way to the loader of another one.
    const planned = argvOf(plan).slice(plan.command.length)
    expect(words.slice(-planned.length)).toEqual(planned)
    const first = planned.indexOf('--json-schema')
    const written = plan.flags.filter(({ layer }) => layer === 'profile').flatMap((own) => [own.flag, ...own.values])
    expect(written).toEqual(ODD_WORDS)
    expect(planned.slice(first, first + ODD_WORDS.length)).toEqual(ODD_WORDS)
  })
})

describe('the embedded engine', () => {
  it.each(LLAMA_SEEDS.filter(([, type]) => embedded.types.includes(type)))(
    'answers with the seed profile %s, and does without what only tunes speed',
    async (name, type, body) => {
      const engine = await engineOf(embedded)
      const { plan, removed } = await assemble(engine, name, type, body)
      expect(removed.filter(({ reason }) => reason !== 'no_effect')).toEqual([])
      const read = parseArgs(argvOf(plan).slice(plan.command.length))
      expect(read).toMatchObject({ ok: true, value: { modelPath: HELLO, alias: name } })
      await start(plan)
      const post = async (path: string, request: object): Promise<string> => {
        const response = await fetch(`http://127.0.0.1:${plan.port}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
        })
        return response.text()
      }
      if (type === 'embedding') {
        expect(await post('/v1/embeddings', { input: 'a text' })).toContain('"embedding":[')
      } else {
        const messages = [{ role: 'user', content: 'What is the capital of France?' }]
        expect(await post('/v1/chat/completions', { messages, temperature: 0, max_tokens: 20 })).toContain('Paris')
      }
    },
  )
})

describe('a llama-server of early 2025', () => {
  /** It had neither a choice of shared or split caches nor names for ways of speculating. */
  const help = engineHelp(
    ...['--host 1', '--port 1', '--model -m 1', '--alias -a 1', '--ctx-size -c 1', '--jinja 0', '--metrics 0'],
    ...['--threads -t 1', '--parallel -np 1', '--temp 1', '-b --batch-size 1', '-ub --ubatch-size 1'],
    ...['--embedding --embeddings 0', '--reranking --rerank 0'],
  )

  it.each(LLAMA_SEEDS)(
    'is started with the seed profile %s, without what it does not need',
    async (name, type, body) => {
      const { key, dialect, noEffect, keyEnv } = runner
      const command = ['/usr/bin/llama-server'] as const
      const engine = { key, dialect, noEffect, keyEnv, command, help, abilities: abilitiesOf(help) }
      const { removed } = await assemble(engine, name, type, body)
      expect(removed.every(({ reason }) => reason === 'no_effect')).toBe(true)
      expect(['--kv-unified', '--cache-reuse']).toEqual(expect.arrayContaining(removed.map(({ flag }) => flag)))
    },
  )
})

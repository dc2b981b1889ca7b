import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { argvOf } from '../../src/contract/launch-plan.ts'
import { assembleLaunch } from '../../src/launch/rules/assemble-launch.ts'
import { modelOfTag } from '../../src/launch/rules/flm-layers.ts'
import type { LaunchRequest } from '../../src/launch/rules/launch-request.ts'
import { createRunnerRegistry } from '../../src/runners/build-registry.ts'
import { explainFailure } from '../../src/runners/rules/explain-failure.ts'
import type { Runner } from '../../src/runners/runner.ts'
import { createProber } from '../../src/slots/life/probe.ts'
import { freePort } from '../support/free-port.ts'
import { launchRequest } from '../support/launch-request.ts'
import { until } from './runner-engines.ts'

const FAKE_FLM = fileURLToPath(new URL('../fake-flm/fake-flm.mjs', import.meta.url))
const TAG = 'llama3.2:1b'

let folder: string
let children: ChildProcess[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-flm-'))
})
afterEach(async () => {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'close')
    }),
  )
  children = []
  await rm(folder, { recursive: true, force: true })
})

function flm(): Runner {
  const runner = createRunnerRegistry({ flm: { binary: FAKE_FLM } }).find('flm')
  if (runner === undefined) throw new Error('there is no runner flm')
  return runner
}

interface Wish {
  readonly tag?: string
  readonly port?: number
  readonly npu?: LaunchRequest['npu']
  readonly flags?: readonly string[]
  /** What stands for the NPU; default: one for this test. */
  readonly device?: string
}

/** Started with the very command that hal0 would make. */
async function start(wish: Wish = {}) {
  const runner = flm()
  const command = await runner.findCommand()
  const port = wish.port ?? (await freePort())
  const { dialect, keyEnv, noEffect } = runner
  const launch = assembleLaunch(
    launchRequest({
      slot: 'flm',
      device: 'npu',
      port,
      npu: wish.npu,
      engine: { key: 'flm', dialect, keyEnv, noEffect, command, help: undefined },
      model: modelOfTag(wish.tag ?? TAG),
      profile: { flags: wish.flags ?? [] },
    }),
  )
  if (!launch.ok) throw launch.error
  const [program, ...args] = argvOf(launch.value.plan)
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], FAKE_FLM_NPU: wish.device ?? join(folder, 'npu') },
  })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const closed = once(child, 'close')
  return { child, closed, origin: `http://127.0.0.1:${port}`, runner, output: () => output }
}

async function ready(wish: Wish = {}) {
  const engine = await start(wish)
  const prober = createProber(engine.origin, engine.runner.probe, undefined)
  await until('the engine is ready', 20_000, async () => {
    if (engine.child.exitCode !== null) throw new Error(engine.output())
    return (await prober.look()).kind === 'ready'
  })
  await prober.close()
  return engine
}

const post = async (origin: string, path: string, body: unknown) => {
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    body: body instanceof FormData ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}
const chat = (model: string) => ({ model, messages: [{ role: 'user', content: 'hi' }] })
const speech = () => {
  const form = new FormData()
  form.set('model', TAG)
  form.set('file', new Blob(['RIFF']), 'a.wav')
  return form
}

it('is started by hal0’s command, is seen to be ready, and chats under its tag', async () => {
  const { origin, runner } = await ready()
  expect((await post(origin, '/v1/chat/completions', chat(TAG))).text).toContain('hello from the NPU')
  // A name of hal0's own would make it load something else.
  expect((await post(origin, '/v1/chat/completions', chat('flm'))).status).toBe(400)
  expect((await runner.describe(await runner.findCommand())).version).toBe('FLM v0.9.43')
})

it('does speech and embeddings where [npu] says so, in the same process', async () => {
  const { origin } = await ready({ npu: { asr: true, embed: true } })
  expect((await post(origin, '/v1/audio/transcriptions', speech())).text).toContain('hello from the microphone')
  expect((await post(origin, '/v1/embeddings', { model: TAG, input: 'x' })).text).toContain('0.25')
})

it('does neither where [npu] does not', async () => {
  const { origin } = await ready({ npu: { asr: false, embed: false } })
  expect((await post(origin, '/v1/audio/transcriptions', speech())).status).toBe(400)
  expect((await post(origin, '/v1/embeddings', { model: TAG, input: 'x' })).status).toBe(400)
})

it.each<[string, Wish, string, string]>([
  ['an unknown tag', { tag: 'nobody:7b' }, 'bad_file', 'flm list'],
  ['a flag it does not know', { flags: ['--prefill-chunk-len', '4096'] }, 'bad_flag', 'flag'],
  ['no NPU', { device: 'missing' }, 'missing_library', 'render'],
])('ends on %s with words that are understood', async (_name, wish, cause, remedy) => {
  const { closed, output, runner } = await start(wish)
  expect((await closed)[0]).toBe(1)
  const explained = explainFailure(output().split('\n'), runner.signatures)
  expect(explained).toMatchObject({ cause, remedy: expect.stringContaining(remedy) })
})

it('has the NPU to itself: a second one ends, and says who has it', async () => {
  const first = await ready()
  const second = await start()
  expect((await second.closed)[0]).toBe(1)
  const explained = explainFailure(second.output().split('\n'), second.runner.signatures)
  expect(explained).toMatchObject({ cause: 'out_of_memory', remedy: expect.stringContaining('holds the NPU') })
  expect(explained?.line).toContain(String(first.child.pid))
  first.child.kill('SIGTERM')
  await first.closed
  await ready()
})

it('says that its port is taken', async () => {
  const { origin } = await ready()
  const second = await start({ port: Number(new URL(origin).port), device: join(folder, 'other-npu') })
  await second.closed
  expect(explainFailure(second.output().split('\n'), second.runner.signatures)?.cause).toBe('port_in_use')
})

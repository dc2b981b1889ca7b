import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { argvOf } from '../../src/contract/launch-plan.ts'
import { KIB, MIB } from '../../src/kernel/units.ts'
import { assembleLaunch } from '../../src/launch/rules/assemble-launch.ts'
import type { AssembledLaunch, LaunchModel } from '../../src/launch/rules/launch-request.ts'
import type { KnownNeed } from '../../src/launch/rules/memory-need.ts'
import { createNeedEstimator } from '../../src/slots/launch/estimate-need.ts'
import { HELLO, until } from '../contract/runner-engines.ts'
import { freePort } from '../support/free-port.ts'
import { writeGguf } from '../support/gguf-builder.ts'
import { launchRequest } from '../support/launch-request.ts'
import { alternatingModel, latentModel, plainModel, slidingModel } from '../support/tiny-models.ts'
import { convolutionModel, hybridModel, linearModel, recurrentModel } from '../support/tiny-recurrent-models.ts'

const LLAMA_SERVER = process.env['HAL0_TEST_LLAMA_SERVER']
if (LLAMA_SERVER === undefined) console.log('skipped: needs HAL0_TEST_LLAMA_SERVER=/path/to/llama-server')

const TINY = [
  plainModel(),
  slidingModel(512),
  alternatingModel(300),
  latentModel(),
  convolutionModel(),
  recurrentModel(),
  hybridModel(),
  linearModel(),
]

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-kv-'))
  await Promise.all(TINY.map(({ name, gguf }) => writeGguf(join(folder, `${name}.gguf`), gguf)))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let child: ChildProcess | undefined
afterEach(async () => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
})

const pathOf = (name: string) => (name === 'hello' ? HELLO : join(folder, `${name}.gguf`))

async function assemble(name: string, ctxTokens: number, flags: readonly string[], model: Partial<LaunchModel> = {}) {
  const launch = assembleLaunch(
    launchRequest({
      port: await freePort(),
      threads: 1,
      tune: { ctx_size: ctxTokens },
      engine: { command: [LLAMA_SERVER ?? '/nowhere/llama-server'] },
      model: { path: pathOf(name), ...model },
      profile: { flags: [...flags, '--verbosity', '4'] },
    }),
  )
  if (!launch.ok) throw launch.error
  return launch.value
}

async function estimate(launch: AssembledLaunch): Promise<KnownNeed> {
  const need = await createNeedEstimator()({
    bound: { config: { device: 'cpu' } },
    runner: { key: 'cpu', dialect: 'llama-server', isSelfManaged: false },
    launch,
    plan: launch.plan,
  })
  if (need.kind === 'unknown') throw new Error(need.reason)
  return need
}

/** Starts it and waits until it is healthy; its log so far. */
async function logOf(launch: AssembledLaunch): Promise<string> {
  const [program, ...args] = argvOf(launch.plan)
  const started = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'] } })
  child = started
  let log = ''
  for (const stream of [started.stdout, started.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  }
  await until('the engine is healthy', 60_000, async () => {
    if (started.exitCode !== null || started.signalCode !== null) throw new Error(`it ended:\n${log.slice(-3000)}`)
    const response = await fetch(`http://127.0.0.1:${launch.plan.port}/health`).catch(() => undefined)
    await response?.arrayBuffer()
    // It writes its log beside its work: the lines may come later than the answer.
    return response?.status === 200 && log.includes('model loaded')
  })
  return log
}

/** What the engine says that it allocated, in bytes: the lines of the contexts that it kept, not of those it tried before. */
function sumOf(log: string, what: RegExp): number {
  const lines = log.slice(log.indexOf('load_tensors:')).matchAll(what)
  return [...lines].reduce((sum, [, mib]) => sum + Number(mib) * MIB, 0)
}
const CACHE_LINE = /(?:KV|RS) buffer size = +([\d.]+) MiB/g
const WEIGHTS_LINE = /model buffer size = +([\d.]+) MiB/g

/** Ten percent is what admission can bear; a layer more or less shows earlier. */
const TOLERANCE = 0.03
/** Its figures have two digits behind the point. */
const ROUNDING_BYTES = 0.01 * MIB

const UNIFIED = ['--parallel', '3', '--kv-unified']
const SPLIT = ['--parallel', '3']
const Q8 = ['--cache-type-k', 'q8_0', '--cache-type-v', 'q8_0', '--flash-attn', 'on']

describe.skipIf(LLAMA_SERVER === undefined)('a KV cache as llama-server itself counts it', () => {
  it.each<readonly [model: string, ctxTokens: number, flags: readonly string[]]>([
    ['hello', 512, []],
    ['hello', 2_048, ['--parallel', '1']],
    ['hello', 3_000, SPLIT],
    ['hello', 2_561, ['--parallel', '10']],
    ['hello', 2_048, [...UNIFIED, '--cache-type-k', 'f32', '--cache-type-v', 'bf16', '--flash-attn', 'off']],
    ['plain', 8_192, []],
    ['plain', 8_192, [...SPLIT, ...Q8]],
    ['plain', 5_000, [...UNIFIED, '-ctk', 'q4_0', '-ctv', 'q5_1', '-fa', 'on']],
    ['sliding', 8_192, []],
    ['sliding', 8_192, SPLIT],
    ['sliding', 8_192, [...UNIFIED, '--ubatch-size', '128']],
    ['sliding', 8_192, [...UNIFIED, '--swa-full']],
    ['sliding', 700, ['--parallel', '1']],
    ['sliding', 8_192, [...SPLIT, ...Q8]],
    ['alternating', 8_192, []],
    ['alternating', 4_096, SPLIT],
    ['latent', 8_192, []],
    ['latent', 6_000, SPLIT],
    ['latent', 8_192, [...UNIFIED, ...Q8]],
    ['convolution', 4_096, SPLIT],
    ['convolution', 4_096, UNIFIED],
    ['recurrent', 2_048, SPLIT],
    ['recurrent', 2_048, ['--parallel', '1']],
    ['hybrid', 8_192, SPLIT],
    ['hybrid', 4_096, []],
    ['linear', 4_096, SPLIT],
    ['linear', 8_192, UNIFIED],
  ])('%s, %d tokens, %j', async (model, ctxTokens, flags) => {
    const launch = await assemble(model, ctxTokens, flags)
    const { cacheBytes } = await estimate(launch)
    const saidBytes = sumOf(await logOf(launch), CACHE_LINE)
    const story = `the engine says ${saidBytes / KIB} KiB, the estimate is ${cacheBytes / KIB} KiB`
    expect(saidBytes, story).toBeGreaterThan(0)
    expect(Math.abs(cacheBytes - saidBytes), story).toBeLessThan(TOLERANCE * saidBytes + ROUNDING_BYTES)
  })

  it('heads for multi-token prediction have a context of their own, and recurrent layers states to go back to', async () => {
    const flags = [...SPLIT, '--spec-type', 'draft-mtp', '--spec-draft-n-max', '5']
    const launch = await assemble('linear', 4_096, flags, { mtp: true })
    expect(launch.speculation.mode).toBe('mtp')
    const { cacheBytes } = await estimate(launch)
    const saidBytes = sumOf(await logOf(launch), CACHE_LINE)
    const story = `the engine says ${saidBytes / KIB} KiB, the estimate is ${cacheBytes / KIB} KiB`
    expect(Math.abs(cacheBytes - saidBytes), story).toBeLessThan(TOLERANCE * saidBytes + ROUNDING_BYTES)
  })

  it('a drafter has a context of its own', async () => {
    const flags = [...SPLIT, '--spec-type', 'draft-simple', '-ctkd', 'f32']
    const launch = await assemble('hello', 2_048, flags, { drafter: pathOf('hello') })
    expect(launch.speculation.mode).toBe('drafter')
    const { cacheBytes, weightsBytes } = await estimate(launch)
    const log = await logOf(launch)
    const saidBytes = sumOf(log, CACHE_LINE)
    expect(cacheBytes / saidBytes, `the engine says ${saidBytes}, the estimate is ${cacheBytes}`).toBeCloseTo(1, 1)
    expect(weightsBytes / sumOf(log, WEIGHTS_LINE)).toBeCloseTo(1, 0)
  })
})

describe.skipIf(LLAMA_SERVER === undefined)('a whole launch', () => {
  it('takes no more than was estimated, and not much less than weights and cache', async () => {
    const launch = await assemble('plain', 131_072, ['--parallel', '1'])
    const need = await estimate(launch)
    const log = await logOf(launch)
    const weightsBytes = sumOf(log, WEIGHTS_LINE)
    expect(need.weightsBytes / weightsBytes).toBeGreaterThan(0.95)
    expect(need.weightsBytes / weightsBytes).toBeLessThan(1.3)
    const status = await readFile(`/proc/${child?.pid}/status`, 'utf8')
    const residentBytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * KIB
    const story = `it holds ${residentBytes / MIB} MiB, the estimate is ${need.hostBytes / MIB} MiB`
    expect(residentBytes, story).toBeLessThan(need.hostBytes)
    expect(residentBytes, story).toBeGreaterThan((need.weightsBytes + need.cacheBytes) * 0.9)
  })
})

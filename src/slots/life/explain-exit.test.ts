import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LLAMA_CPP_SIGNATURES } from '../../runners/signatures.ts'
import { explainExit } from './explain-exit.ts'
import type { StartedEngine } from './started-engine.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-exit-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function engineThatSaid(lines: readonly string[]): Promise<StartedEngine> {
  const logPath = join(folder, 'engine.log')
  await writeFile(logPath, `${lines.join('\n')}\n`)
  // The parts that are looked at.
  return {
    logPath,
    attemptId: '',
    binding: { runner: { signatures: LLAMA_CPP_SIGNATURES } },
  } as unknown as StartedEngine
}
const killed = { kind: 'signal', signal: 'SIGKILL', atMs: 0 } as const

it('one that was killed is not explained by what it said of something else', async () => {
  const engine = await engineThatSaid([
    '0.00.812.031 W srv operator(): unauthorized: Invalid API Key',
    'slot update: error in grammar',
  ])
  expect(await explainExit(engine, killed, 'up')).toMatchObject({
    message: 'the engine was ended by SIGKILL while it was up',
    line: null,
    remedy: expect.stringContaining('memory ran out'),
  })
})

it('one that was killed after a known sign is explained by that', async () => {
  const engine = await engineThatSaid(['ggml_cuda: cudaMalloc failed: out of memory'])
  expect(await explainExit(engine, killed, 'up')).toMatchObject({ cause: 'out_of_memory' })
})

it('one that exits is not explained by a request that had a wrong key', async () => {
  const engine = await engineThatSaid([
    'E srv operator(): unauthorized: Invalid API Key',
    'E could not bind the socket to its address',
  ])
  const { message } = await explainExit(engine, { kind: 'code', code: 1, atMs: 0 }, 'up')
  expect(message).toContain('bind')
  expect(message).not.toContain('API Key')
})

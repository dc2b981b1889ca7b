import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { missingProgramIn } from '../../contract/missing-program.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { createLlamaCppRunner } from '../../runners/llama-cpp.ts'
import type { RunnerRegistry } from '../../runners/registry.ts'
import { createPortPool } from '../port-pool.ts'
import { examineSlot } from './examine-slot.ts'

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-examine-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  const file = 'name = "rerank"\ntype = "reranking"\ndevice = "cpu"\nbinary = "cpu"\n'
  await writeFile(join(home.etc, 'slots', 'rerank.toml'), file)
})
afterEach(() => rm(folder, { recursive: true }))

// Only slots that bring their own model said so; the others said nothing, and failed when somebody gave them a model.
it.each([
  ['a program that is there', process.execPath, undefined],
  ['one that is nowhere', 'no-such-server', 'no-such-server'],
])('a slot without a model, and %s', async (_name, binary, missing) => {
  const cpu = createLlamaCppRunner({ key: 'cpu', title: 'a stand-in', binary, env: { PATH: folder } })
  const runners: RunnerRegistry = { find: (key) => (key === 'cpu' ? cpu : undefined), all: () => [cpu] }
  const ports = createPortPool([8081, 8999], () => undefined)
  const { problem, bound } = await examineSlot({ home, runners, ports }, 'rerank', undefined, undefined)
  expect(bound?.modelId).toBe('')
  expect(missingProgramIn(problem?.message)).toBe(missing)
  expect(problem === undefined).toBe(missing === undefined)
})

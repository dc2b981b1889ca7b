import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { writeModelRows } from '../../config/models/models-file.ts'
import { profilesFilePath } from '../../config/profiles/profiles-file.ts'
import { argvOf } from '../../contract/launch-plan.ts'
import { type Home, homeAt } from '../../files/home.ts'
import type { RunnerRegistry } from '../../runners/registry.ts'
import type { Runner } from '../../runners/runner.ts'
import { readBinding } from './read-binding.ts'
import { resolveLaunch } from './resolve-launch.ts'

const HELLO = fileURLToPath(new URL('../../../models/hello.gguf', import.meta.url))

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-resolve-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  await writeModelRows(home, () => ({ hello: { path: HELLO } }))
})
afterEach(() => rm(folder, { recursive: true }))

const runner: Runner = {
  key: 'embedded',
  title: 'a stand-in',
  dialect: 'llama-server',
  types: ['llm'],
  routes: [],
  probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: undefined },
  keyEnv: undefined,
  onClientAbort: 'abort',
  signatures: [],
  isSelfManaged: false,
  noEffect: new Set(),
  findCommand: () => Promise.resolve(['/bin/engine']),
  describe: () =>
    Promise.resolve({
      version: undefined,
      abilities: { jinja: true, mmproj: false, drafter: false, mtp: false, ngram: false },
      help: undefined,
      build: 'b1',
    }),
}
const runners: RunnerRegistry = { find: (key) => (key === runner.key ? runner : undefined), all: () => [runner] }

async function resolve(name: string, text: string) {
  await writeFile(join(home.etc, 'slots', `${name}.toml`), `name = "${name}"\n${text}[model]\ndefault = "hello"\n`)
  return resolveLaunch({ home, runners }, await readBinding({ home }, name, undefined))
}

// CASES: a mistake in one file must not take down what does not use it.
it('a broken profiles.toml stops only slots whose profile is in it', async () => {
  await writeFile(profilesFilePath(home), '[profiles.mine]\nctx_size = "big"\n')
  const own = await resolve('own', 'profile = "chat"\n')
  expect(argvOf(own.launchOn(8081).plan)).toContain(HELLO)
  expect(argvOf((await resolve('silent', '')).launchOn(8082).plan)).toContain(HELLO)
  await expect(resolve('theirs', 'profile = "mine"\n')).rejects.toMatchObject({
    code: 'config.invalid',
    message: expect.stringContaining('profiles.toml'),
  })
})

it('lists no more than twenty profiles where one is missing', async () => {
  const names = Array.from({ length: 40 }, (_, nth) => `[profiles.mine-${nth}]\n`)
  await writeFile(profilesFilePath(home), names.join(''))
  await expect(resolve('a', 'profile = "something-else-altogether"\n')).rejects.toMatchObject({
    code: 'slot.profile_missing',
    message: expect.stringMatching(/, and 33 more$/),
  })
})

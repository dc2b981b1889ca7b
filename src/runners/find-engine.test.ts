import { expect, it } from 'vitest'
import { missingProgramIn } from '../contract/missing-program.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { type EngineSearch, findEngine } from './find-engine.ts'

const ASKED: EngineSearch = {
  ...{ key: 'kokoro', binary: undefined, program: 'no-such-server', advice: 'install it', env: { PATH: '/nowhere' } },
}

async function refused(search: Partial<EngineSearch>) {
  const error = await findEngine({ ...ASKED, ...search }).catch((thrown: unknown) => thrown)
  if (!(error instanceof Hal0Error)) throw new Error('it was found')
  return { message: error.message, remedy: error.details?.['remedy'], missing: missingProgramIn(error.message) }
}

it.each([
  // The remedy named a section of hal0.toml that was not there, to be corrected.
  [
    'nowhere on PATH',
    {},
    'no-such-server',
    /^Install no-such-server, or say where it is: `binary` under \[runners\.kokoro\]/,
  ],
  ['a name of the settings', { binary: 'mine' }, 'mine', /^Install mine, or say where it is/],
  ['a path of the settings', { binary: '/nowhere/x' }, undefined, /^Correct \[runners\.kokoro\] of hal0\.toml, or/],
])('%s', async (_name, search, missing, remedy) => {
  const told = await refused(search)
  expect(told).toMatchObject({ missing, remedy: expect.stringMatching(remedy) as string })
  expect(told.message).toMatch(/^runner "kokoro" cannot start: /)
})

it.each([null, undefined, '', 'runner "cpu" cannot start: [runners.cpu] names /x, which is missing'])(
  '%j names no missing program',
  (problem) => expect(missingProgramIn(problem)).toBeUndefined(),
)

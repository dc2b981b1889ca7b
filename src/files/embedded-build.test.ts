import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findEmbeddedBuild } from './embedded-build.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-build-'))
  const own = join(folder, 'app/node_modules/hal0')
  await mkdir(own, { recursive: true })
  await writeFile(join(own, 'package.json'), '{"dependencies": {"node-llama-cpp": "3.21.1"}}')
  await mkdir(join(folder, 'library/llama/localBuilds'), { recursive: true })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const machine = (arch: string, installed: Readonly<Record<string, string>>) => ({
  arch,
  findPackage: (name: string) => installed[name],
})

describe('findEmbeddedBuild', () => {
  it.each([
    ['the library and its build', machine('x64', { 'node-llama-cpp': '/l', '@node-llama-cpp/linux-x64': '/b' })],
    ['32-bit ARM', machine('arm', { 'node-llama-cpp': '/l', '@node-llama-cpp/linux-armv7l': '/b' })],
  ])('is content with %s', (_name, given) => {
    expect(findEmbeddedBuild(given)).toMatchObject({
      ok: true,
      found: expect.stringContaining('@node-llama-cpp/linux-'),
    })
  })

  it('is content with a build that was compiled here', () => {
    const given = machine('riscv64', { 'node-llama-cpp': join(folder, 'library') })
    expect(findEmbeddedBuild(given)).toMatchObject({ ok: true })
  })

  it.each([
    { name: 'the build', installed: { 'node-llama-cpp': '/l' }, missing: '@node-llama-cpp/linux-x64' },
    { name: 'the library', installed: {}, missing: 'node-llama-cpp' },
  ])('in a package install: the command brings $name alone', ({ installed, missing }) => {
    const own = join(folder, 'app/node_modules/hal0')
    expect(findEmbeddedBuild(machine('x64', installed), own)).toEqual({
      ok: false,
      problem:
        `package ${missing} is not installed: ` +
        `run \`npm install --prefix ${folder}/app --ignore-scripts --omit=optional ${missing}@3.21.1\``,
    })
  })

  it('in a clone: the lock keeps the large builds out', () => {
    expect(findEmbeddedBuild(machine('x64', { 'node-llama-cpp': '/l' }), '/srv/hal0/')).toEqual({
      ok: false,
      problem:
        'package @node-llama-cpp/linux-x64 is not installed: ' +
        'run `npm ci` (`npm ci --omit=dev` for production) in /srv/hal0, without --omit=optional',
    })
  })

  it('names another engine where there is no build', () => {
    expect(findEmbeddedBuild(machine('riscv64', {}))).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/riscv64.*llama-server/),
    })
  })
})

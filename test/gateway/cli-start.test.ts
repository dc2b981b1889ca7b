import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { repoRoot } from '../support/run-cli.ts'

/** A checkout in which `npm start` can be tried: a program that only says its arguments, and a source that is newer. */
let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-start-'))
  await mkdir(join(folder, 'node_modules'))
  await mkdir(join(folder, 'src'))
  await cp(join(repoRoot, 'scripts/start.mjs'), join(folder, 'scripts/start.mjs'))
  await cp(join(repoRoot, 'package.json'), join(folder, 'package.json'))
  await writeFile(join(folder, 'src/a.ts'), 'export const a = 1\n')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

async function addDist(): Promise<void> {
  await mkdir(join(folder, 'dist/cli'), { recursive: true })
  await writeFile(join(folder, 'dist/cli/main.js'), 'console.log(process.argv.slice(2).join(" "))\n')
  await utimes(join(folder, 'dist/cli/main.js'), 1000, 1000)
}

function start() {
  const env = { PATH: process.env['PATH'] }
  return spawnSync(process.execPath, [join(folder, 'scripts/start.mjs'), '--port', '0'], { env, encoding: 'utf8' })
}

describe('npm start without the development tools', () => {
  it('uses dist/ as it is, with a warning of one line, when src/ is newer', async () => {
    await addDist()
    // A compiler that another package brought is not the one that package.json asks for.
    await mkdir(join(folder, 'node_modules/typescript'))
    await writeFile(join(folder, 'node_modules/typescript/package.json'), '{"version": "5.0.0"}')
    const run = start()
    expect(run.stdout).toBe('quickstart --port 0\n')
    expect(run.stderr).toMatch(/^hal0: warning: .*dist\/ is used as it is\n$/)
    expect(run.status).toBe(0)
  })

  it('says what to do when there is no dist/', () => {
    const run = start()
    expect(run).toMatchObject({ status: 1, stdout: '' })
    expect(run.stderr).toMatch(/^hal0: dist\/ is not built.*\n {2}Run `npm ci && npm run build` once/)
  })

  it('says what to do when nothing is installed', async () => {
    await addDist()
    await rm(join(folder, 'node_modules'), { recursive: true })
    expect(start()).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('Run `npm ci` first.') })
  })
})

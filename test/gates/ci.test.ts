import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder: string
let children: ChildProcess[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hal0-ci-'))
  children = []
})
afterEach(async () => {
  for (const child of children) await end(child)
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a script of ours in the temporary folder, so that this checkout's own processes do not count. */
function runScript(script: string, ...args: readonly string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('node', [join(root, 'scripts', script), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, HAL0_CI_RUN: folder },
  })
  return { code: status, output: stdout + stderr }
}

async function startSleeper(env: NodeJS.ProcessEnv, cwd: string): Promise<ChildProcess> {
  const child = spawn('sleep', ['600'], { cwd, env: { ...process.env, ...env }, stdio: 'ignore' })
  children.push(child)
  await once(child, 'spawn')
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

describe('leftovers', () => {
  it('finds no process after a clean run, whatever else the machine runs', async () => {
    await startSleeper({ HAL0_CI_RUN: 'another run' }, tmpdir())
    await startSleeper({}, folder) // stands there before the run begins
    expect(runScript('leftovers.mjs', '--before', 'before').code).toBe(0)
    expect(runScript('leftovers.mjs', '--after', 'before')).toMatchObject({ code: 0 })
  })

  it.each([
    ['carries the mark of the run', () => startSleeper({ HAL0_CI_RUN: folder }, tmpdir())],
    ['works in the checkout', () => startSleeper({}, folder)],
  ])('finds and names a process that %s', async (_what, start) => {
    expect(runScript('leftovers.mjs', '--before', 'before').code).toBe(0)
    const child = await start()
    const { code, output } = runScript('leftovers.mjs', '--after', 'before')
    expect(output).toContain(`pid ${child.pid}: sleep 600`)
    expect(code).toBe(1)
  })
})

describe('the sum over the parts of a run', () => {
  const totals = (name: string, passed: number, failed: number) =>
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ passed, failed, skipped: [], complaints: [] }))

  it.each([
    ['green parts', ['a=0', 'b=0', 'bench=0'], '14 passed, 0 failed', 0],
    ['a failed part that counted', ['a=0', 'bad=1'], '7 passed, 2 failed', 1],
    ['a part that ended badly after green tests', ['a=1'], '4 passed, 1 failed', 1],
    ['a part that never counted', ['a=0', 'crashed=137'], '4 passed, 1 failed', 1],
    ['no part at all', [], '0 passed, 0 failed', 1],
  ])('%s', (_what, parts, lastLine, expected) => {
    totals('a', 4, 0)
    totals('b', 9, 0)
    totals('bad', 3, 2)
    const { code, output } = runScript('sum-totals.mjs', folder, ...parts)
    expect(output.trimEnd().split('\n').at(-1)).toBe(lastLine)
    expect(code).toBe(expected)
  })
})

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../support/daemon-harness.ts'
import { processesMentioning } from '../support/processes.ts'
import { repoRoot } from '../support/run-cli.ts'
import { startApi } from '../support/start-api.ts'

// Each test starts several processes one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 })

/** util-linux: runs a command on a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0
if (!hasScript) console.log('skipped: there is no program `script` (util-linux) to make a terminal with')

const FIRST_PORT = 20_000 + (process.pid % 1000) * 10
const main = join(repoRoot, 'dist/cli/main.js')

let folder = ''
let home = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-terminal-'))
  home = join(folder, 'home')
  await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
  await writeFile(join(home, 'etc/hal0/hal0.toml'), `[slots]\nport_range = [${FIRST_PORT}, ${FIRST_PORT + 9}]\n`)
  await writeFile(join(home, 'etc/hal0/slots/agent.toml'), 'name = "agent"\n[model]\ndefault = "hello"\n')
  const model = join(repoRoot, 'models/hello.gguf')
  await writeFile(join(home, 'etc/hal0/models.toml'), `[models.hello]\npath = ${JSON.stringify(model)}\n`)
})

afterEach(async () => {
  const left = await processesMentioning(folder)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
  expect(left).toEqual([])
})

const daemonFile = () => join(home, 'var-lib/hal0/daemon.json')
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

function environment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(HAL0_|npm_|INIT_CWD$|NODE_OPTIONS$)/.test(name))
  return { ...Object.fromEntries(inherited), HOME: folder }
}

/** Runs a shell command on a terminal; resolves once it has printed `pattern` and the slot's engine runs. */
async function onTerminal(command: string, pattern: RegExp) {
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    env: environment(),
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let said = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await eventually(() => {
    if (terminal.exitCode !== null) throw new Error(`ended before ${pattern}: ${said}`)
    return pattern.test(said)
  })
  await eventually(async () => /"state": ?"ready"/.test(await readFile(stateFile(), 'utf8').catch(() => '')))
  return terminal
}

const stateFile = () => join(home, 'var-lib/hal0/slots/agent/state.json')

describe.runIf(hasScript)('the terminal is closed', () => {
  // Writing to a terminal that is gone fails with EIO, and Node 20 aborts when it cannot restore it at the end.
  it('serve: the engines are stopped, and the daemon ends in order', async () => {
    // A shell as it sits in a terminal: it passes the signal on; and it lives to note the exit code.
    const serve = `node ${main} serve --port 0 --home ${home} & child=$!`
    const shell = `${serve}; trap 'kill -HUP $child' HUP; wait $child; wait $child; echo $? > ${join(folder, 'code')}`
    await expectOrderlyEnd(await onTerminal(shell, /hal0 serves http/))
    expect(await readFile(join(folder, 'code'), 'utf8')).toBe('0\n')
  })

  it('npm start: the same', async () => {
    const command = `npm --prefix ${repoRoot} start -- --port 0 --home ${home}`
    await expectOrderlyEnd(await onTerminal(command, /Ctrl-C stops hal0/))
  })
})

/** Its end closes the other side of the terminal, as a closed window does. */
async function expectOrderlyEnd(terminal: ChildProcess): Promise<void> {
  expect(await exists(daemonFile())).toBe(true)
  terminal.kill('SIGKILL')
  await once(terminal, 'close')
  await eventually(async () => (await processesMentioning(folder)).length === 0)
  expect(await exists(daemonFile())).toBe(false)
}

it.runIf(hasScript)('slot list on a terminal says when there is none', async () => {
  const api = await startApi()
  for (const { name } of api.slots.rows()) api.slots.delete(name)
  const terminal = spawn('script', ['-qefc', `node ${main} slot list --url ${api.url}`, '/dev/null'], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await once(terminal, 'close')
  await api.stop()
  expect([terminal.exitCode, said]).toEqual([0, 'no slots\r\n'])
})

it('output that cannot be written does not end the daemon, and its end is in order', async () => {
  const child = spawn('bash', ['-c', `exec node ${main} serve --port 0 --home ${home} > /dev/full 2>&1`], {
    env: environment(),
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}`)
    return exists(daemonFile())
  })
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(await exists(daemonFile())).toBe(false)
})

it('a command that only prints fails when its output cannot be written, and says why', () => {
  const run = spawnSync('bash', ['-c', `node ${main} --json doctor --home ${home} > /dev/full`], { encoding: 'utf8' })
  expect(run.status).toBe(1)
  expect(run.stderr).toMatch(/^hal0: the output cannot be written: .*ENOSPC.*\n$/)
})

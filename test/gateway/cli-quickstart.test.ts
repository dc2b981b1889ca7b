import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { processesMentioning } from '../support/processes.ts'
import { type CliChild, type CliRun, repoRoot, runCli, startCli } from '../support/run-cli.ts'

// Each test starts several processes one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 })

let folder = ''
let home = ''
let children: CliChild[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-quickstart-'))
  home = join(folder, 'home')
  await mkdir(join(home, 'etc/hal0'), { recursive: true })
  children = []
})

afterEach(async () => {
  for (const child of children) child.process.kill('SIGTERM')
  await Promise.all(children.map((child) => child.ended))
  // HOME of every child, and the cookie of every engine, lead to this folder.
  const left = await processesMentioning(folder)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
  expect(left).toEqual([])
})

const hal0 = (...args: string[]) => runCli([...args, '--home', home], { userFolder: folder })

/** A failure shows what the command said. */
function expectOk(run: CliRun): void {
  expect(run.code, run.stderr).toBe(0)
}

function start(...args: string[]): CliChild {
  const child = startCli([...args, '--home', home], { userFolder: folder })
  children.push(child)
  return child
}

describe('quickstart --ask', () => {
  it('prints the answer and nothing else on stdout, and leaves no process', async () => {
    const run = await hal0('quickstart', '--port', '0', '--ask', 'What is 2+2?')
    expect(run).toMatchObject({ code: 0, stdout: '4\n' })
    expect(await processesMentioning(folder)).toEqual([])
    expect((await hal0('status')).code).toBe(3)
  })

  it('follows the bundled model when the program was moved', async () => {
    const models = join(home, 'etc/hal0/models.toml')
    await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
    await writeFile(models, '# mine\n[models.hello]\npath = "/gone/hal0/models/hello.gguf"\n')
    await writeFile(join(home, 'etc/hal0/slots/agent.toml'), 'name = "agent"\n[model]\ndefault = "hello"\n')
    expect(await hal0('quickstart', '--port', '0', '--ask', 'What is 2+2?')).toMatchObject({ code: 0, stdout: '4\n' })
    expect(await readFile(models, 'utf8')).toMatch(/^# mine\n[^]*models\/hello\.gguf"\n$/)
  })

  it('--json gives the slot and the answer', async () => {
    const run = await hal0('quickstart', '--port', '0', '--json', '--ask', 'What is the capital of France?')
    expectOk(run)
    expect(JSON.parse(run.stdout)).toEqual({ slot: 'agent', answer: expect.stringContaining('Paris') })
  })

  it('makes the slot file once, with comments, and never replaces one', async () => {
    await hal0('quickstart', '--port', '0', '--ask', 'What is 2+2?')
    const path = join(home, 'etc/hal0/slots/agent.toml')
    const text = await readFile(path, 'utf8')
    expect(text).toMatch(/^# Slot "agent"/)
    expect(text).toContain('default = "hello"')
    const model = join(folder, 'other model.gguf')
    await copyFile(join(repoRoot, 'models/hello-f16.gguf'), model)
    const other = ['quickstart', '--port', '0', '--model', basename(model), '--ask', 'What is 1+2?']
    expect(await hal0(...other)).toMatchObject({ code: 0, stdout: '3\n' })
    // Only the binding has changed.
    expect(await readFile(path, 'utf8')).toBe(text.replace('"hello"', '"other-model"'))
    const models = await readFile(join(home, 'etc/hal0/models.toml'), 'utf8')
    expect(models).toContain(model)
    // Without --model the binding stays, and a repeated --model adds nothing.
    expect(await hal0(...other)).toMatchObject({ code: 0, stdout: '3\n' })
    expect(await hal0('quickstart', '--port', '0', '--ask', 'What is 1+2?')).toMatchObject({ code: 0, stdout: '3\n' })
    expect(await readFile(join(home, 'etc/hal0/models.toml'), 'utf8')).toBe(models)
  })

  it('ends with 1 and the reason when the engine cannot load the model', async () => {
    const model = join(folder, 'cut.gguf')
    await copyFile(join(repoRoot, 'models/hello.gguf'), model)
    await truncate(model, 4096)
    const run = await hal0('quickstart', '--port', '0', '--model', model, '--ask', 'What is 2+2?')
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^hal0: .+\(slot\.\w+\)$/m) })
  })

  it('a busy port: says who has it and which flag helps', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const run = await hal0('quickstart', '--port', String(port), '--ask', 'What is 2+2?')
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(run.stderr).toContain(`Port ${port} on 127.0.0.1 is taken by`)
      expect(run.stderr).toContain(`(pid ${process.pid})`)
      expect(run.stderr).toContain('--port N')
    } finally {
      server.close()
    }
  })

  it('takes any port unless one is named: 8080 may be taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await writeFile(join(home, 'etc/hal0/hal0.toml'), `[server]\nport = ${port}\n`)
    try {
      expect(await hal0('quickstart', '--ask', 'What is 2+2?')).toMatchObject({ code: 0, stdout: '4\n' })
    } finally {
      server.close()
    }
  })

  it('Ctrl-C while it works: ends with 1, no process left', async () => {
    const child = start('quickstart', '--port', '0', '--ask', 'Tell me a story')
    await child.until('stderr', /slot agent: starting/)
    child.process.kill('SIGINT')
    const run = await child.ended
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Interrupted by SIGINT') })
    expect(await processesMentioning(folder)).toEqual([])
  })
})

describe('quickstart in the foreground', () => {
  it('prints a curl line that works as pasted, serves, is found by the other commands and ends on a signal', async () => {
    const child = start('quickstart', '--port', '0')
    const [, baseUrl = ''] = await child.until('stdout', /Base URL {3}(http:\/\/127\.0\.0\.1:\d+\/v1)/)
    const [, curl = ''] = await child.until('stdout', /^ {2}(curl .*)$/m)
    await child.until('stderr', /no user is defined.*once: hal0_setup_\w+/s)
    // What to type next means the same home and port.
    await child.until('stdout', new RegExp(`--home ${home} --port 0 --model /path/to/your\\.gguf`))
    await child.until('stdout', new RegExp(`dist/cli/main\\.js chat --home ${home}\\n.*slot list --home ${home}\\n`))
    expect(curl).toContain(baseUrl)
    const pasted = spawn('bash', ['-c', curl], { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks: Buffer[] = []
    pasted.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(pasted, 'close')
    const printed = Buffer.concat(chunks).toString()
    expect(JSON.parse(printed).choices[0].message.content).toBe('4')
    expect(printed).toMatch(/\n$/)

    const again = await hal0('quickstart')
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toContain(`at ${baseUrl.replace('/v1', '')} (pid ${child.pid})`)
    expect(again.stderr).toContain('(server.already_running)')

    const asked = await hal0('quickstart', '--ask', 'What is 2+2?')
    expect(asked).toMatchObject({ code: 0, stdout: '4\n' })
    expectOk(await hal0('status'))

    child.process.kill('SIGTERM')
    expectOk(await child.ended)
    expect(await processesMentioning(folder)).toEqual([])
  })
})

describe('the slot commands against a running daemon', () => {
  it('a slot file with mistakes: quickstart and serve say so, the rest works', async () => {
    await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
    await writeFile(join(home, 'etc/hal0/slots/bad.toml'), 'name = "bad"\ndevice = "tpu"\n')
    const child = start('quickstart', '--port', '0')
    await child.until('stderr', /^warning: slot bad: .*bad\.toml: device/m)
    await child.until('stdout', /Ctrl-C stops/)
    child.process.kill('SIGTERM')
    expectOk(await child.ended)
    const serve = start('serve', '--port', '0')
    await serve.until('stderr', /^warning: slot bad: .*bad\.toml: device/m)
    await serve.until('stdout', /hal0 serves/)
    serve.process.kill('SIGTERM')
    expectOk(await serve.ended)
  })

  it('list, show, unload, load, restart, logs, chat and status', async () => {
    const child = start('quickstart', '--port', '0', '--json')
    await child.until('stdout', /"curl"/)
    const json = async (...args: string[]) => {
      const run = await hal0(...args, '--json')
      expect(run).toMatchObject({ code: 0, stderr: '' })
      return JSON.parse(run.stdout)
    }
    expect(await json('slot', 'list')).toMatchObject({
      slots: [{ name: 'agent', state: 'ready', model_id: 'hello', runner: 'embedded' }],
    })
    expect((await hal0('slot', 'list')).stdout).toMatch(/^agent\tready\thello\t[a-z]+\tembedded\tcpu\t\d+\t0\t0\t.*\n$/)
    expect(await json('status')).toMatchObject({ home, pid: child.pid, slots: { total: 1, by_state: { ready: 1 } } })
    expect(await json('slot', 'unload', 'agent', '--force')).toMatchObject({
      name: 'agent',
      state: 'offline',
      pid: null,
    })
    expect(await json('slot', 'load', 'agent')).toMatchObject({ name: 'agent', state: 'ready' })
    const before = await json('slot', 'show', 'agent')
    expect((await hal0('slot', 'restart', 'agent', '--drain', '0')).stdout).toMatch(/^slot agent is ready with hello/)
    const after = await json('slot', 'show', 'agent')
    expect(after.pid).not.toBe(before.pid)
    const { lines } = await json('slot', 'logs', 'agent', '-n', '1')
    expect(lines).toHaveLength(1)
    expect((await hal0('slot', 'logs', 'agent', '-n', '1')).stdout).toBe(`${lines[0]}\n`)
    expect(await json('chat', 'What', 'is', '2+2?')).toEqual({ slot: 'agent', answer: '4' })
    const piped = await runCli(['chat', '--home', home], { userFolder: folder, input: 'What is 2+2?\n' })
    expect(piped).toMatchObject({ code: 0, stdout: '4\n' })
    // By the model's id too; the slot that answers is named. Nobody answers for a slot that does not exist.
    expect(await json('chat', '--slot', 'hello', 'What is 2+2?')).toEqual({ slot: 'agent', answer: '4' })
    const nobody = await hal0('chat', '--slot', 'nope', 'What is 2+2?')
    expect(nobody).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('(slot.not_found)') })
    expect((await hal0('slot', 'load', 'agent')).stdout).toBe('slot agent is ready already with hello\n')
    const missing = await hal0('slot', 'load', 'nobody', '--json')
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(missing.stderr)).toMatchObject({ error: { code: 'slot.not_found', details: { status: 404 } } })
    const text = await hal0('slot', 'show', 'nobody')
    expect(text.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^hal0: .*nobody.*\(slot\.not_found\)$/),
      expect.stringMatching(/^ {2}List the slots with `hal0 slot list`, or make it/),
    ])
    expectOk(await hal0('slot', 'load', 'agent', '--wait', '0'))
  })

  it('logs -f goes on with new lines until the daemon ends', async () => {
    const child = start('quickstart', '--port', '0')
    await child.until('stdout', /Ctrl-C stops/)
    const follower = start('slot', 'logs', 'agent', '-f', '-n', '1')
    const [first = ''] = await follower.until('stdout', /^.+\n/)
    expectOk(await hal0('slot', 'restart', 'agent'))
    await follower.until('stdout', /^.+\n[^]+\n/)
    expect(first).not.toBe('')
    child.process.kill('SIGTERM')
    expectOk(await child.ended)
    await follower.ended
  })
})

describe('doctor', () => {
  // For root a daemon without --home would use the system's folders; the one that runs is the one that is meant.
  it('looks at the home of the daemon that runs', async () => {
    const personal = join(folder, '.hal0')
    const child = startCli(['quickstart', '--port', '0'], { userFolder: folder })
    children.push(child)
    await child.until('stdout', /Ctrl-C stops/)
    const run = await runCli(['doctor'], { userFolder: folder })
    expect(run.stdout).toMatch(new RegExp(`^ok\\tsettings\\t${personal}/etc/hal0/hal0\\.toml`, 'm'))
    expect(run.stdout).toMatch(/^ok\tslots\tagent\t/m)
    expect(run.stdout).toMatch(/^ok\tmodels\thello\t/m)
    // Wrong while it runs: only daemon.log said that what was there before still counts, and doctor that the daemon does not start.
    await writeFile(join(personal, 'etc/hal0/hal0.toml'), '[server]\nprot = 1\n')
    const wrong = await runCli(['doctor'], { userFolder: folder })
    expect(wrong.stdout).toMatch(
      /^FAIL\tsettings\t.*prot.*; a start would fail; the running one goes on with what it said before\t/m,
    )
    const status = async () => (await runCli(['status'], { userFolder: folder })).stdout
    await expect
      .poll(status, { timeout: 20_000 })
      .toMatch(/^settings\twhat was there before still counts: .*server\.prot/m)
    // Nothing runs any more, and the files are wrong: now it is needed most.
    child.process.kill('SIGTERM')
    await child.ended
    await writeFile(join(personal, 'etc/hal0/hal0.toml'), '[server]\nprot = 1\n')
    await writeFile(join(personal, 'etc/hal0/slots/b.toml'), 'name = "b"\n[model]\ndefault = "helo"\n')
    const later = await runCli(['doctor'], { userFolder: folder })
    expect(later.code).toBe(1)
    expect(later.stdout).toMatch(/^FAIL\tsettings\t.*server\.prot/m)
    expect(later.stdout).toMatch(/^warn\tslots\t.*\/slots\/b\.toml: model\.default: there is no model .*helo/m)
  })
})

describe('serve', () => {
  it('on a fresh home: says that no slot has a model and how to get one', async () => {
    const child = start('serve', '--port', '0')
    await child.until('stderr', /no slot has a model yet\. [^]*hal0 slot create mine --model ID/)
    await child.until('stdout', /^hal0 serves /)
    expect(await hal0('slot', 'list')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^agent\toffline\t-\t/m),
    })
  })

  it('prints its URL, refuses a second daemon on the home, and lets a stream end before it stops', async () => {
    await hal0('quickstart', '--port', '0', '--ask', 'What is 2+2?')
    const child = start('serve', '--port', '0')
    const [, url = ''] = await child.until('stdout', /^hal0 serves (http:\/\/127\.0\.0\.1:\d+)\n$/)
    const second = await hal0('serve', '--port', '0')
    expect(second).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('server.already_running') })
    expectOk(await hal0('slot', 'load', 'agent'))

    const body = {
      model: 'agent',
      stream: true,
      max_tokens: 400,
      ignore_eos: true,
      messages: [{ role: 'user', content: 'Count to 25' }],
    }
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    child.process.kill('SIGTERM')
    expect(await response.text()).toMatch(/data: \[DONE\]\s*$/)
    const run = await child.ended
    expectOk(run)
    expect(run.stderr).toContain('SIGTERM')
  })
})

describe('npm start', () => {
  it('runs quickstart with the same arguments, relative to where it was typed', async () => {
    const child = startCli(['--', '--home', 'home', '--port', '0', '--ask', 'What is 2+2?'], {
      userFolder: folder,
      command: ['npm', '--prefix', repoRoot, '--silent', 'start'],
    })
    children.push(child)
    expect(await child.ended).toMatchObject({ code: 0, stdout: '4\n' })
    expect(await readFile(join(home, 'etc/hal0/slots/agent.toml'), 'utf8')).toContain('name = "agent"')
  })
})

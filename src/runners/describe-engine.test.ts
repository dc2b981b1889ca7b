import { chmod, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { processesMentioning } from '../../test/support/processes.ts'
import { createEngineReader, type EngineReader } from './describe-engine.ts'
import type { EngineFacts } from './runner.ts'

const HELP = '--port PORT   port\\n--jinja, --no-jinja   templates\\n'
/** Long enough for a shell on a busy machine; what hangs is ended by the tests' own, shorter one. */
const TIMEOUT_MS = 20_000

let folder: string
let program: string
let nowMs: number
let reader: EngineReader
let ending: AbortController
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-describe-'))
  program = join(folder, 'engine')
  nowMs = 0
  ending = new AbortController()
  reader = createEngineReader(
    { PATH: process.env['PATH'], LLAMA_API_KEY: 'secret', HF_TOKEN: 'secret' },
    { nowMs: () => nowMs, signal: ending.signal },
  )
})
afterEach(() => rm(folder, { recursive: true }))

/** A shell script that notes each run in `runs`. */
async function write(body: string, path = program): Promise<void> {
  await writeFile(path, `#!/bin/sh\necho "$@" >> '${folder}/runs'\n${body}\n`)
  await chmod(path, 0o755)
}
const answer = (help: string, version: string): string =>
  `case "$1" in --help) printf '%b' '${help}';; --version) echo '${version}';; esac`
const ask = (timeoutMs = TIMEOUT_MS): Promise<EngineFacts> =>
  reader.describe([program], {
    help: [[program, '--help']],
    version: [[program, '--version']],
    timeoutMs,
  })
async function runs(): Promise<readonly string[]> {
  const text = await readFile(join(folder, 'runs'), 'utf8').catch(() => '')
  return text.trim().split('\n').toSorted()
}
describe('createEngineReader', () => {
  it('reads help, abilities and version', async () => {
    await write(answer(HELP, 'version: 7 (abc)'))
    const facts = await ask()
    expect(facts.version).toBe('version: 7 (abc)')
    expect(facts.abilities.jinja).toBe(true)
    expect([...(facts.help?.flags.keys() ?? [])]).toEqual(['--port', '--jinja', '--no-jinja'])
  })

  it('ends what it asks when nobody wants to know any more, and leaves no process', async () => {
    await write('exec sleep 600')
    const facts = ask(600_000)
    while ((await runs()).length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    ending.abort()
    expect((await facts).help).toBeUndefined()
    expect(await processesMentioning(folder)).toEqual([])
    expect((await ask()).help).toBeUndefined()
  })

  it('asks a build once, however many ask and at the same time', async () => {
    await write(answer(HELP, 'version: 7'))
    const all = await Promise.all(Array.from({ length: 20 }, () => ask()))
    nowMs += 1e9
    await ask()
    expect(await runs()).toEqual(['--help', '--version'])
    expect(new Set(all.map((facts) => facts.help)).size).toBe(1)
  })

  it('asks again when the program was replaced', async () => {
    await write(answer(HELP, 'version: 7'))
    await ask()
    await write(answer(HELP, 'version: 8'))
    expect((await ask()).version).toBe('version: 8')
  })

  it('asks again when a file of the same size has another time', async () => {
    await write(answer(HELP, 'version: 7'))
    await ask()
    await utimes(program, 1, 1)
    await ask()
    expect(await runs()).toHaveLength(4)
  })

  it('asks again when the script in the command was replaced', async () => {
    const script = join(folder, 'script')
    await write(answer(HELP, 'version: 7'), script)
    const command = ['/bin/sh', script] as const
    const questions = {
      help: [[...command, '--help'] as const],
      version: [[...command, '--version'] as const],
      timeoutMs: TIMEOUT_MS,
    }
    expect((await reader.describe(command, questions)).version).toBe('version: 7')
    await write(answer(HELP, 'version: 88'), script)
    expect((await reader.describe(command, questions)).version).toBe('version: 88')
  })

  it('does not remember a failed reading for ever, and not for a moment only', async () => {
    await write('exit 1')
    expect((await ask()).help).toBeUndefined()
    nowMs = 29_999
    await ask()
    expect(await runs()).toHaveLength(2)
    nowMs = 30_000
    await ask()
    expect(await runs()).toHaveLength(4)
  })

  it('asks the next way when the first is refused', async () => {
    await write(`case "$1" in --help=all) exit 2;; --help) printf '%b' '${HELP}';; esac`)
    const facts = await reader.describe([program], {
      help: [
        [program, '--help=all'],
        [program, '--help'],
      ],
      version: [],
      timeoutMs: TIMEOUT_MS,
    })
    expect(facts.help?.flags.has('--port')).toBe(true)
    expect(facts.version).toBeUndefined()
  })

  it.each([
    ['is missing', undefined],
    ['is no program', 'not a script'],
  ])('says that it does not know when the program %s', async (_what, text) => {
    if (text !== undefined) await writeFile(program, text)
    expect(await ask()).toMatchObject({ version: undefined, help: undefined, abilities: { jinja: false } })
  })

  it.each([
    ['fails', `printf '%b' '${HELP}'; exit 1`],
    ['prints a summary without --port', "printf '%b' '--jinja   templates\\n'"],
    ['prints without end', 'yes -- "--port PORT   port"'],
  ])('concludes nothing when the help %s', async (_what, body) => {
    await write(body)
    expect((await ask()).help).toBeUndefined()
  })

  it('ends a program that does not, with what it started', async () => {
    // Both are found by the folder: the shell by its script, what it started by its environment.
    await write(`MARK='${folder}' sleep 600 & echo started >> '${folder}/started'; wait`)
    // The time is up when both have started what stays, however slow the machine is.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const facts = ask(2_000)
    const started = () => readFile(join(folder, 'started'), 'utf8').catch(() => '')
    while ((await started()) !== 'started\nstarted\n') await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(1_999)
    expect(await processesMentioning(folder)).toHaveLength(4)
    vi.advanceTimersByTime(1)
    expect(await facts).toMatchObject({ version: undefined, help: undefined })
    vi.useRealTimers()
    await expect.poll(() => processesMentioning(folder)).toEqual([])
  })

  it('does not wait for what a program leaves behind, and ends it', async () => {
    await write(`MARK='${folder}' sleep 600 & ${answer(HELP, 'version: 7')}`)
    // The time-out is never reached: it would be longer than the test's own.
    expect(await ask(600_000)).toMatchObject({ version: 'version: 7', abilities: { jinja: true } })
    await expect.poll(() => processesMentioning(folder)).toEqual([])
  })

  it('tells builds apart by what was written, not by rights and names', async () => {
    await write(answer(HELP, 'version: 7'))
    const first = (await ask()).build
    await chmod(program, 0o700)
    expect((await ask()).build).toBe(first)
    await write(answer(HELP, 'version: 88'))
    expect((await ask()).build).not.toBe(first)
  })

  it('keeps keys from the program', async () => {
    await write(`printf '%b' '${HELP}'; env > '${folder}/env'`)
    await ask()
    const env = await readFile(join(folder, 'env'), 'utf8')
    expect(env).toContain('PATH=')
    expect(env).not.toContain('secret')
  })
})

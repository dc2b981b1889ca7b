import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { processesMentioning } from '../support/processes.ts'
import { type CliChild, repoRoot, runCli, startCli } from '../support/run-cli.ts'

// Several processes one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 })

let folder = ''
let daemon: CliChild | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-newcomer-'))
})

afterEach(async () => {
  daemon?.process.kill('SIGTERM')
  await daemon?.ended
  const left = await processesMentioning(folder)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
  expect(left).toEqual([])
})

/** Root would get the system's folders. */
const home = () => ({ HAL0_HOME: join(folder, 'home') })

/** A shell in which `hal0` is the built one and the home is a new one. */
const shell = (line: string) =>
  runCli(['-c', `hal0() { "${process.execPath}" "${repoRoot}/dist/cli/main.js" "$@"; }; ${line}`], {
    userFolder: folder,
    env: home(),
    command: ['bash'],
  })

describe('a new user', () => {
  it('makes a slot, loads it and chats with it, as --help told them', async () => {
    const said = await Promise.all(
      ['--help', 'slot --help', 'slot create --help', 'slot load --help', 'chat --help'].map(
        async (args) => (await shell(`hal0 ${args}`)).stdout,
      ),
    )
    const [top = '', slot = '', create = '', , chat = ''] = said
    expect(top).toMatch(/slot .*\n[^]*hal0 slot create/)
    expect(slot).toMatch(/create .*\n[^]*load /)
    expect(create).toContain('hal0 slot create mine --model hello --profile chat')
    expect(chat).toMatch(/hal0 chat mine "/)

    daemon = startCli(['serve', '--port', '0'], { userFolder: folder, env: home() })
    await daemon.until('stdout', /http:\/\/127\.0\.0\.1:\d+/)
    const run = await shell(
      'hal0 slot create mine --model hello --profile chat && hal0 slot load mine && hal0 chat mine "What is a slot?"',
    )
    expect(run.code, run.stderr).toBe(0)
    expect(run.stdout).toMatch(/A slot is one named place that runs one model\.\n$/)

    const resolved = await shell('hal0 slot resolved mine --json')
    expect(JSON.parse(resolved.stdout)).toMatchObject({
      slot: 'mine',
      profile: 'chat',
      profile_source: 'slot',
      config_drift: [],
    })
    const edited = await shell('hal0 slot edit mine --threads 1 --json')
    expect(JSON.parse(edited.stdout)).toMatchObject({ changed: ['threads'], restart_needed: ['threads'] })
    // A mistyped key names the near one; nothing is written.
    const wrong = await shell('hal0 slot edit mine --set thraeds=3')
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('threads')])
    const denied = await shell('hal0 slot edit mine --set ctx_size=4096 ')
    expect([denied.code, denied.stderr]).toEqual([1, expect.stringContaining('slot.tuning_key_denied')])
  })
})

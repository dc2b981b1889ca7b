import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { engineKeyPath, homeAt, launchRecordPath, slotStatePath } from '../../src/files/home.ts'
import { openHomeId } from '../../src/files/home-id.ts'
import { COOKIE_ENV, formatCookie } from '../../src/runtimes/process/rules/engine-cookie.ts'
import { eventually, type TestHome, type TestSlot } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'
import { FAKE_ENGINE, startFakeEngine } from '../support/start-fake.ts'
import { enginesOf, isRunning, isUp, listening, makeOwnHome, type Served, serve } from './adoption-world.ts'

interface Left {
  readonly at: TestHome
  readonly pid: number
  readonly port: number
}

/** A home whose daemon was killed while slot `a` was up. `before`: what happens before it is killed. */
async function leaveEngine(
  slot: TestSlot = {},
  { settings = {}, before }: { settings?: Record<string, object>; before?: (daemon: Served) => Promise<unknown> } = {},
): Promise<Left> {
  const at = await makeOwnHome({ a: slot }, settings)
  const daemon = await serve(at)
  expect((await daemon.post('/api/slots/a/load')).status).toBe(200)
  const { pid, port } = await daemon.row('a')
  if (pid === null || port === null) throw new Error('a slot that is up has a pid and a port')
  await before?.(daemon)
  await eventually(async () => (await readFile(slotStatePath(at.home, 'a'), 'utf8')).includes('"sanity"'))
  await daemon.kill9()
  return { at, pid, port }
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  await eventually(async () => !(await isRunning(pid)))
}

const questions = async (daemon: Served) => (await (await daemon.engine('a')).state()).counters.sanity_requests

describe('what is written of an engine', () => {
  it('state.json is torn: the engine goes on, after it was asked once more', async () => {
    const { at, pid } = await leaveEngine()
    await writeFile(slotStatePath(at.home, 'a'), '{"name": "a", "sta')
    const daemon = await serve(at)
    expect(await daemon.until('a', isUp)).toMatchObject({ pid })
    expect(await questions(daemon)).toBe(2)
    expect(await daemon.events('slot.adopted')).toMatchObject([{ data: { slot: 'a', pid } }])
  })

  it.each([
    ['is missing', (path: string) => rm(path)],
    ['is torn', async (path: string) => writeFile(path, (await readFile(path, 'utf8')).slice(0, 99))],
    [
      'is of a future version',
      async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replace('{"version":1,', '{"version":2,')),
    ],
    [
      'names a port that there cannot be',
      async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replace(/"port":\d+/, '"port":99999999')),
    ],
  ] as const)(
    'launch.json %s: the engine is ended, which is said, and the slot starts afresh',
    async (_what, change) => {
      const { at, pid } = await leaveEngine()
      await change(launchRecordPath(at.home, 'a'))
      const daemon = await serve(at)
      expect(await daemon.row('a')).toMatchObject({ state: 'offline', pid: null })
      expect(await isRunning(pid)).toBe(false)
      expect(await daemon.events('slot.survivor_stopped')).toMatchObject([
        {
          message: expect.stringContaining(`pid ${pid}`),
          data: { slot: 'a', reason: expect.stringContaining('not known') },
        },
      ])
      expect((await daemon.chat('a')).status).toBe(200)
    },
  )

  it.each([
    ['the key is lost', (at: TestHome) => rm(engineKeyPath(at.home, 'a'))],
    ['another key is there', (at: TestHome) => writeFile(engineKeyPath(at.home, 'a'), 'another')],
    ['what is there can be no key', (at: TestHome) => writeFile(engineKeyPath(at.home, 'a'), 'no\u0000key')],
  ] as const)('%s: the engine is ended, and nobody is served by it', async (_what, change) => {
    const { at, pid } = await leaveEngine()
    await change(at)
    const daemon = await serve(at)
    expect((await daemon.chat('a')).status).toBe(200)
    expect(await isRunning(pid)).toBe(false)
    expect((await daemon.row('a')).pid).not.toBe(pid)
    expect((await enginesOf(at))['a']).toHaveLength(1)
  })

  it('a left-over of an older start is ended; the one that was started last goes on', async () => {
    const { at, pid } = await leaveEngine()
    const cookie = formatCookie({ homeId: await openHomeId(at.home), slot: 'a', attemptId: 'older' })
    const argv = ['--host', '127.0.0.1', '--port', '0', '--model', '/x.gguf', '--alias', 'a']
    const env = { PATH: process.env['PATH'], [COOKIE_ENV]: cookie }
    const older = spawn(process.execPath, [FAKE_ENGINE, ...argv], { detached: true, stdio: 'ignore', env })
    const gone = once(older, 'exit')
    await eventually(async () => (await enginesOf(at))['a']?.length === 2)
    const daemon = await serve(at)
    await gone
    expect(await daemon.until('a', isUp)).toMatchObject({ pid })
    expect(await daemon.events('slot.survivor_stopped')).toMatchObject([{ data: { pid: older.pid } }])
    expect(await enginesOf(at)).toEqual({ a: [pid] })
  })
})

describe('the slot file while the daemon was away', () => {
  const pathOf = (at: TestHome) => join(at.home.etc, 'slots', 'a.toml')

  it('is gone: the engine is ended, which is said', async () => {
    const { at, pid } = await leaveEngine()
    await rm(pathOf(at))
    const daemon = await serve(at)
    expect(await daemon.rows()).not.toContainEqual(expect.objectContaining({ name: 'a' }))
    expect(await isRunning(pid)).toBe(false)
    expect(await daemon.events('slot.survivor_stopped')).toMatchObject([
      { data: { slot: 'a', reason: expect.stringContaining('no file') } },
    ])
  })

  it('is renamed: the engine knows itself by the old name, so it is ended; the new slot starts its own', async () => {
    const { at, pid } = await leaveEngine()
    await rm(pathOf(at))
    await at.writeSlot('b', {})
    const daemon = await serve(at)
    expect(await isRunning(pid)).toBe(false)
    expect((await daemon.chat('b')).status).toBe(200)
  })

  it('is invalid: what runs goes on and serves; a start would fail, and that is said', async () => {
    const { at, pid } = await leaveEngine()
    await writeFile(pathOf(at), 'name = "a"\nno_such_key = 1\n')
    const daemon = await serve(at)
    const row = await daemon.until('a', (seen) => isUp(seen) && seen.config_problem !== null)
    expect(row).toMatchObject({ pid, model_id: 'hello', config_problem: expect.stringContaining('no_such_key') })
    expect((await daemon.chat('a')).status).toBe(200)
    await at.writeSlot('a', {})
    await daemon.until('a', (seen) => seen.config_problem === null)
    expect(await daemon.row('a')).toMatchObject({ pid, restart_needed: [] })
  })

  it('was edited: the engine goes on, autoload or not; the row says what waits, and a person has it', async () => {
    const { at, pid } = await leaveEngine()
    await at.writeSlot('a', { autoload: true, knobs: { load_ms: 1 } })
    const daemon = await serve(at)
    const row = await daemon.until('a', (seen) => isUp(seen) && seen.restart_needed.length > 0)
    expect(row).toMatchObject({ pid, autoload: true })
    expect((await daemon.chat('a')).status).toBe(200)
    expect((await daemon.row('a')).pid).toBe(pid)
    expect((await daemon.post('/api/slots/a/load')).status).toBe(200)
    const after = await daemon.row('a')
    expect(after.pid).not.toBe(pid)
    expect(after.restart_needed).toEqual([])
    expect((await enginesOf(at))['a']).toEqual([after.pid])
  })
})

describe('while no daemon was there', () => {
  it('the engine died and a stranger has its port: it is told, never used, and the next start goes elsewhere', async () => {
    const { at, pid, port } = await leaveEngine()
    await kill(pid)
    const stranger = await startFakeEngine({ argv: ['--port', String(port)], key: '' })
    onTestFinished(() => stranger.stop())
    const daemon = await serve(at)
    expect(await daemon.row('a')).toMatchObject({ state: 'offline', pid: null })
    await eventually(async () => (await daemon.events('slot.stranger_refused')).length > 0)
    expect(await daemon.events('slot.stranger_refused')).toMatchObject([
      { message: expect.stringContaining(`pid ${stranger.pid}`), data: { slot: 'a', port, pid: stranger.pid } },
    ])
    expect((await daemon.chat('a')).status).toBe(200)
    expect((await daemon.row('a')).port).not.toBe(port)
    expect((await stranger.state()).requests.map(({ url }) => url)).toEqual([])
  })

  it('the same with a port that the file names: the start is refused by name, until the port is free', async () => {
    const port = await freePort()
    const { at, pid } = await leaveEngine({ port })
    await kill(pid)
    const stranger = await startFakeEngine({ argv: ['--port', String(port)] })
    onTestFinished(() => stranger.stop())
    const daemon = await serve(at)
    const refused = await daemon.post('/api/slots/a/load')
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'slot.port_in_use' } }])
    await stranger.stop()
    expect((await daemon.chat('a')).status).toBe(200)
    expect(await daemon.row('a')).toMatchObject({ port })
  })

  it('the engine died, and nobody has its port: offline, without a word of a crash, and started when asked', async () => {
    const { at, pid, port } = await leaveEngine()
    await kill(pid)
    const daemon = await serve(at)
    expect(await daemon.row('a')).toMatchObject({ state: 'offline', pid: null, failure: null, breaker: null })
    expect((await daemon.chat('a')).status).toBe(200)
    expect(await daemon.row('a')).toMatchObject({ port })
    expect((await daemon.events()).map(({ type }) => type)).not.toContain('slot.stranger_refused')
  })

  it('an engine that was loading became ready: it is asked, then serves', async () => {
    const at = await makeOwnHome({ a: { knobs: { hold_load: true } } })
    const first = await serve(at)
    void first.post('/api/slots/a/load').catch(() => undefined)
    const { pid } = await first.until('a', ({ state }) => state === 'warming')
    const engine = await listening(first, 'a')
    await first.kill9()
    await engine.setKnobs({ hold_load: false })
    const daemon = await serve(at)
    expect(await daemon.until('a', isUp)).toMatchObject({ pid })
    expect(await questions(daemon)).toBe(1)
    expect((await daemon.chat('a')).status).toBe(200)
  })

  it('the engine began to hang: it warms until the limit of a load is over, then is replaced', async () => {
    const { at, pid } = await leaveEngine(
      {},
      {
        settings: { slots: { load_limit_s: 2, stop_grace_s: 1 } },
        before: async (daemon) => (await daemon.engine('a')).setKnobs({ hang: 'accept' }),
      },
    )
    const daemon = await serve(at)
    expect(await daemon.row('a')).toMatchObject({ state: 'warming', pid })
    expect((await daemon.until('a', isUp)).pid).not.toBe(pid)
    expect(await isRunning(pid)).toBe(false)
  })

  it('the whole home was moved: its engine is found from there, writes its log there, and is ended from there', async () => {
    const { at, pid } = await leaveEngine()
    const moved = `${at.folder}-moved`
    await rename(at.folder, moved)
    onTestFinished(() => rename(moved, at.folder))
    const daemon = await serve({ folder: moved })
    expect(await daemon.until('a', isUp)).toMatchObject({ pid })
    expect((await daemon.chat('a')).status).toBe(200)
    await eventually(async () => (await readFile(slotStatePath(homeAt(moved), 'a'), 'utf8')).includes(`"pid": ${pid}`))
    expect(await daemon.end()).toBe(0)
    expect(await isRunning(pid)).toBe(false)
  })
})

describe('an engine without a model', () => {
  it('stays as it is, counts once, and serves when its list fills', async () => {
    const at = await makeOwnHome({ a: { knobs: { models_empty: true }, autoload: true } })
    const first = await serve(at)
    const { pid } = await first.until('a', ({ idle_reason }) => idle_reason === 'no_model')
    await eventually(async () => (await readFile(slotStatePath(at.home, 'a'), 'utf8')).includes('"failures": 1'))
    await first.kill9()
    const daemon = await serve(at)
    const row = await daemon.until('a', ({ idle_reason }) => idle_reason === 'no_model')
    expect(row).toMatchObject({ pid, breaker: { failures: 1 } })
    expect((await daemon.chat('a')).status).toBe(503)
    expect((await daemon.row('a')).pid).toBe(pid)
    await (await daemon.engine('a')).setKnobs({ models_empty: false })
    await daemon.until('a', ({ state }) => state === 'ready')
    expect((await daemon.chat('a')).status).toBe(200)
    expect(await daemon.row('a')).toMatchObject({ pid, breaker: null })
  })
})

describe('clocks', () => {
  it('an adopted engine that nobody uses is idle, then unloaded', async () => {
    const { at, pid } = await leaveEngine()
    const toml = join(at.home.etc, 'hal0.toml')
    const text = await readFile(toml, 'utf8')
    await writeFile(toml, text.replace('[slots]', '[slots]\nidle_timeout_s = 0.2\nunload_after_s = 2'))
    const daemon = await serve(at)
    expect(await daemon.until('a', ({ state }) => state === 'idle')).toMatchObject({ pid, idle_reason: 'quiet' })
    await daemon.until('a', ({ state }) => state === 'offline')
    expect(await enginesOf(at)).toEqual({})
  })
})

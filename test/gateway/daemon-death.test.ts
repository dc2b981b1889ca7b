import { chmod, cp, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { describe, expect, it, onTestFinished } from 'vitest'
import { daemonFilePath, engineKeyPath, slotLogPath, slotStatePath } from '../../src/files/home.ts'
import { eventually, makeHome, type TestHome } from '../support/daemon-harness.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { FAKE_ENGINE } from '../support/start-fake.ts'
import { isRunning, isUp, listening, type Served, serve } from './adoption-world.ts'

const chat = (url: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'a', messages: [{ role: 'user', content: 'hi' }] }),
  })

async function pidOf(daemon: Served): Promise<number> {
  const { pid } = await daemon.row('a')
  if (pid === null) throw new Error('slot a has no process')
  return pid
}

/** A home whose slot `a` runs the engine behind `script`; `$@` are the engine's arguments. */
async function makeWrappedHome(script: string): Promise<TestHome> {
  const at = await makeHome({ a: {} }, { runners: { cpu: { binary: '/replaced/below' } } })
  const wrapper = join(at.folder, 'wrapped engine.sh')
  await writeFile(wrapper, `#!/bin/sh\n${script}\n`)
  await chmod(wrapper, 0o755)
  await writeFile(join(at.home.etc, 'hal0.toml'), `[runners.cpu]\nbinary = ${JSON.stringify(wrapper)}\n`)
  return at
}

const WRAPPED = `sh -c '"$0" "$@"; exit $?' ${FAKE_ENGINE} "$@"`

describe('kill -9 of the daemon', () => {
  it('leaves the engine; the next daemon goes on with it, and so does the one after that', async () => {
    const at = await makeHome({ a: {} })
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const pid = await pidOf(first)
    await eventually(async () => (await readFile(slotStatePath(at.home, 'a'), 'utf8')).includes('"sanity"'))
    await first.kill9()
    expect(await at.enginePids()).toEqual([pid])

    const second = await serve(at)
    expect(await second.until('a', isUp)).toMatchObject({ pid })
    expect((await chat(second.url)).status).toBe(200)
    await second.kill9()
    const third = await serve(at)
    expect(await third.until('a', isUp)).toMatchObject({ pid })
    expect((await chat(third.url)).status).toBe(200)
    expect((await (await third.engine('a')).state()).counters.sanity_requests).toBe(1)
    expect(await third.events('slot.adopted')).toMatchObject([{ data: { slot: 'a', pid } }])
    expect(await third.end()).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })

  it('an engine behind a wrapper script is found too; with the wrapper itself gone, what it left is ended', async () => {
    const at = await makeWrappedHome(WRAPPED)
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const before = await at.enginePids()
    expect(before.length).toBeGreaterThanOrEqual(2)
    const pid = await pidOf(first)
    await first.kill9()
    const second = await serve(at)
    expect(await second.until('a', isUp)).toMatchObject({ pid })
    expect((await chat(second.url)).status).toBe(200)
    expect(await at.enginePids()).toEqual(before)

    await second.kill9()
    process.kill(pid, 'SIGKILL')
    await eventually(async () => !(await at.enginePids()).includes(pid))
    expect((await at.enginePids()).length).toBeGreaterThanOrEqual(1)
    const third = await serve(at)
    expect(await at.enginePids()).toEqual([])
    expect((await chat(third.url)).status).toBe(200)
    expect(await third.end()).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })

  it('an engine that cleared its environment is found by its record, and ended like any other', async () => {
    const at = await makeWrappedHome(`exec env -i PATH="$PATH" LLAMA_API_KEY="$LLAMA_API_KEY" node ${FAKE_ENGINE} "$@"`)
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const pid = await pidOf(first)
    // A test that fails must not leave behind what no cookie finds.
    onTestFinished(() => {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    })
    expect(await at.enginePids()).toEqual([])
    await first.kill9()
    const second = await serve(at)
    expect(await second.until('a', isUp)).toMatchObject({ pid })
    expect((await chat(second.url)).status).toBe(200)
    expect(await second.end()).toBe(0)
    expect(await isRunning(pid)).toBe(false)
  })

  it('in the middle of a load: the load goes on, and its end is what the next daemon waits for', async () => {
    const at = await makeHome({ a: { knobs: { load_ms: 3_000 }, autoload: true } })
    const first = await serve(at)
    await first.until('a', ({ state }) => state === 'warming')
    const pid = await pidOf(first)
    await first.kill9()
    const second = await serve(at)
    expect((await chat(second.url)).status).toBe(200)
    expect(await at.enginePids()).toEqual([pid])
  })

  it('a load that was being given up is not gone on with', async () => {
    const at = await makeHome({ a: { knobs: { hold_load: true, slow_stop_ms: 60_000 } } })
    const first = await serve(at)
    void first.post('/api/slots/a/load').catch(() => undefined)
    await first.until('a', ({ state }) => state === 'warming')
    await listening(first, 'a')
    void first.post('/api/slots/a/unload').catch(() => undefined)
    await eventually(async () => (await readFile(slotStatePath(at.home, 'a'), 'utf8')).includes('"stopping": true'))
    await first.kill9()
    const second = await serve(at)
    expect(await at.enginePids()).toEqual([])
    expect(await second.row('a')).toMatchObject({ state: 'offline', pid: null, failure: null, breaker: null })
  })

  it('what a runner is stopped with is known of an engine that was found again', async () => {
    const at = await makeHome({ a: {} })
    const mark = join(at.folder, 'interrupted')
    const wrapper = join(at.folder, 'own.sh')
    await writeFile(
      wrapper,
      `#!/bin/sh\ntrap 'echo yes > "${mark}"; kill -9 $child; exit 0' INT\ntrap '' TERM\n${FAKE_ENGINE} "$@" & child=$!\nwhile :; do wait $child; done\n`,
    )
    await chmod(wrapper, 0o755)
    await writeFile(
      join(at.home.etc, 'hal0.toml'),
      stringify({
        runners: {
          own: {
            template: [
              wrapper,
              '--host',
              '127.0.0.1',
              '--port',
              '${PORT}',
              '--model',
              '${MODEL}',
              '--alias',
              '${ALIAS}',
            ],
            stop_signal: 'SIGINT',
          },
        },
      }),
    )
    await at.writeSlot('a', { runner: 'own' })
    const first = await serve(at)
    expect((await first.post('/api/slots/a/load')).status).toBe(200)
    const pid = await pidOf(first)
    await first.kill9()
    const second = await serve(at)
    expect(await second.until('a', isUp)).toMatchObject({ pid })
    expect((await second.post('/api/slots/a/unload')).status).toBe(200)
    expect(await readFile(mark, 'utf8')).toBe('yes\n')
    expect(await at.enginePids()).toEqual([])
  })

  it('a stale state.json that says ready is not believed; a broken one is passed over', async () => {
    const at = await makeHome({ a: {}, b: {} })
    const record = {
      name: 'a',
      state: 'ready',
      model_id: 'hello',
      port: 8081,
      updated_at: '2026-01-01T00:00:00.000Z',
      message: '',
      extra: {},
    }
    for (const [slot, text] of [
      ['a', JSON.stringify(record)],
      ['b', '{"name": "b", "sta'],
    ] as const) {
      const path = slotStatePath(at.home, slot)
      await mkdir(join(path, '..'), { recursive: true })
      await writeFile(path, text)
    }
    const daemon = await serve(at)
    const slots = await daemon.rows()
    expect(slots.map((row) => row.state)).toEqual(['offline', 'offline'])
    expect((await chat(daemon.url)).status).toBe(200)
  })
})

describe('a copy of a home', () => {
  it('is another home: starting it leaves the engines of the first alone', async () => {
    const at = await makeHome({ a: {} })
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const engines = await at.enginePids()
    const copy = `${at.folder}-copy`
    // What is being written at that moment comes and goes.
    await cp(at.folder, copy, { recursive: true, filter: (path) => !/\.json\.\d+$/.test(path) })
    onTestFinished(() => rm(copy, { recursive: true, force: true }))
    const second = startCli(['--home', copy, 'serve', '--port', '0'], { userFolder: at.folder })
    onTestFinished(async () => {
      second.process.kill('SIGTERM')
      await second.ended
    })
    await second.until('stdout', /(http:\/\/127\.0\.0\.1:\d+)/)
    expect(await at.enginePids()).toEqual(engines)
    expect((await chat(first.url)).status).toBe(200)
  })
})

describe('on_exit', () => {
  it('keep: SIGTERM leaves the engine to itself; the next daemon goes on with it, and with on_exit = stop ends it', async () => {
    const at = await makeHome({ a: {} }, { slots: { on_exit: 'keep' } })
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const pid = await pidOf(first)
    expect(await first.end()).toBe(0)
    expect(await at.enginePids()).toEqual([pid])
    const toml = join(at.home.etc, 'hal0.toml')
    await writeFile(toml, (await readFile(toml, 'utf8')).replace('"keep"', '"stop"'))
    const second = await serve(at)
    expect(await second.until('a', isUp)).toMatchObject({ pid, restart_needed: [] })
    expect((await (await second.engine('a')).state()).counters.sanity_requests).toBe(1)
    expect((await chat(second.url)).status).toBe(200)
    expect(await second.end()).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })
})

describe('a disk that is full', () => {
  it('under daemon.log costs lines, not the daemon: it serves, and SIGTERM ends it', async () => {
    const at = await makeHome({ a: {} })
    await mkdir(at.home.varLog, { recursive: true })
    await symlink('/dev/full', join(at.home.varLog, 'daemon.log'))
    const { child, url } = await serve(at)
    expect((await chat(url)).status).toBe(200)
    child.process.kill('SIGTERM')
    expect((await child.ended).code).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })

  it('a log that cannot be opened is said, with the path', async () => {
    const at = await makeHome({ a: {} })
    await mkdir(join(at.home.varLog, 'daemon.log'), { recursive: true })
    const run = await runCli(['--home', at.folder, 'serve', '--port', '0'], { userFolder: at.folder })
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('daemon.log')])
  })
})

describe('one home', () => {
  it('keeps what is private to itself', async () => {
    const at = await makeHome({ a: {} })
    const { url } = await serve(at)
    expect((await chat(url)).status).toBe(200)
    const private600 = [
      daemonFilePath(at.home),
      engineKeyPath(at.home, 'a'),
      slotStatePath(at.home, 'a'),
      slotLogPath(at.home, 'a'),
      join(at.home.varLog, 'daemon.log'),
    ]
    for (const path of private600) expect([path, (await stat(path)).mode & 0o777]).toEqual([path, 0o600])
  })

  it('has one daemon: the second is refused with url and pid, the first goes on', async () => {
    const at = await makeHome({ a: {} })
    const first = await serve(at)
    const second = await runCli(['--home', at.folder, 'serve', '--port', '0'], { userFolder: at.folder })
    expect(second.code).toBe(1)
    expect(second.stderr).toContain(first.url)
    expect(second.stderr).toContain(String(first.child.pid))
    expect((await chat(first.url)).status).toBe(200)
  })

  it('a SIGTERM lets a running stream end, then stops the engines and exits 0', async () => {
    const at = await makeHome({ a: { knobs: { tokens_per_second: 40 } } })
    const { child, url } = await serve(at)
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'a',
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
        ignore_eos: true,
        max_tokens: 40,
      }),
    })
    const text = response.text()
    child.process.kill('SIGTERM')
    await child.until('stderr', /waiting up to/)
    // Nobody new comes in while the stream runs on.
    await expect(chat(url)).rejects.toThrow()
    expect(await text).toContain('[DONE]')
    expect((await child.ended).code).toBe(0)
    expect(await at.enginePids()).toEqual([])
    await expect(readFile(daemonFilePath(at.home))).rejects.toThrow()
  })

  it('a second SIGTERM cuts the stream with a last error event', async () => {
    const at = await makeHome({ a: { knobs: { hold_after_tokens: 2 } } })
    const { child, url } = await serve(at)
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'a', messages: [{ role: 'user', content: 'hi' }], stream: true }),
    })
    const text = response.text()
    child.process.kill('SIGTERM')
    await child.until('stderr', /waiting up to/)
    child.process.kill('SIGTERM')
    expect(await text).toContain('slot.unloading')
    expect((await child.ended).code).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })
})

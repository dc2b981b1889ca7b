import { chmod, cp, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { daemonFilePath, engineKeyPath, slotLogPath, slotStatePath } from '../../src/files/home.ts'
import { eventually, makeHome, type TestHome } from '../support/daemon-harness.ts'
import { type CliChild, runCli, startCli } from '../support/run-cli.ts'
import { FAKE_ENGINE } from '../support/start-fake.ts'

/** `hal0 serve` as its own process, which can be killed like any other. */
async function serve(at: TestHome): Promise<{ readonly child: CliChild; readonly url: string }> {
  const child = startCli(['--home', at.folder, 'serve', '--port', '0'], { userFolder: at.folder })
  onTestFinished(async () => {
    child.process.kill('SIGTERM')
    await child.ended
  })
  const [, url = ''] = await child.until('stdout', /(http:\/\/127\.0\.0\.1:\d+)/)
  return { child, url }
}

const chat = (url: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'a', messages: [{ role: 'user', content: 'hi' }] }),
  })

async function slotRow(url: string): Promise<{ state: string; pid: number | null }> {
  return (await (await fetch(`${url}/api/slots/a`)).json()) as { state: string; pid: number | null }
}

describe('kill -9 of the daemon', () => {
  it('leaves the engine; the next daemon ends it, says so, and serves afresh', async () => {
    const at = await makeHome({ a: {} })
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const [old] = await at.enginePids()
    first.child.process.kill('SIGKILL')
    await first.child.ended
    expect(await at.enginePids()).toEqual([old])
    expect(JSON.parse(await readFile(slotStatePath(at.home, 'a'), 'utf8'))).toMatchObject({
      extra: { process: { pid: old } },
    })

    const second = await serve(at)
    expect(await at.enginePids()).toEqual([])
    expect(await slotRow(second.url)).toMatchObject({ state: 'offline', pid: null })
    const { events } = (await (await fetch(`${second.url}/api/events`)).json()) as {
      events: { type: string; message: string }[]
    }
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'slot.survivor_stopped', message: expect.stringContaining(`pid ${old}`) }),
    )
    expect((await chat(second.url)).status).toBe(200)
    second.child.process.kill('SIGTERM')
    expect((await second.child.ended).code).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })

  it('an engine behind a wrapper script is found and ended too, also when the wrapper itself is gone', async () => {
    const at = await makeHome({ a: {} }, { runners: { cpu: { binary: '/replaced/below' } } })
    const wrapper = join(at.folder, 'wrapped engine.sh')
    await writeFile(wrapper, `#!/bin/sh\nsh -c '"$0" "$@"; exit $?' ${FAKE_ENGINE} "$@"\n`)
    await chmod(wrapper, 0o755)
    await writeFile(join(at.home.etc, 'hal0.toml'), `[runners.cpu]\nbinary = ${JSON.stringify(wrapper)}\n`)
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const before = await at.enginePids()
    expect(before.length).toBeGreaterThanOrEqual(2)
    const { pid } = await slotRow(first.url)
    first.child.process.kill('SIGKILL')
    await first.child.ended
    process.kill(pid ?? 0, 'SIGKILL')
    await eventually(async () => !(await at.enginePids()).includes(pid ?? 0))
    expect((await at.enginePids()).length).toBeGreaterThanOrEqual(1)
    const second = await serve(at)
    expect(await at.enginePids()).toEqual([])
    expect((await chat(second.url)).status).toBe(200)
    second.child.process.kill('SIGTERM')
    expect((await second.child.ended).code).toBe(0)
    expect(await at.enginePids()).toEqual([])
  })

  it('an engine that cleared its environment is found by its record', async () => {
    const at = await makeHome({ a: {} })
    const wrapper = join(at.folder, 'clean.sh')
    await writeFile(
      wrapper,
      `#!/bin/sh\nexec env -i PATH="$PATH" LLAMA_API_KEY="$LLAMA_API_KEY" node ${FAKE_ENGINE} "$@"\n`,
    )
    await chmod(wrapper, 0o755)
    await writeFile(join(at.home.etc, 'hal0.toml'), `[runners.cpu]\nbinary = ${JSON.stringify(wrapper)}\n`)
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const { pid } = await slotRow(first.url)
    if (pid === null) throw new Error('no pid')
    // A test that fails must not leave behind what no cookie finds.
    onTestFinished(() => {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    })
    expect(await at.enginePids()).toEqual([])
    first.child.process.kill('SIGKILL')
    await first.child.ended
    await serve(at)
    await eventually(() =>
      readFile(`/proc/${pid}/stat`, 'utf8').then(
        (text) => / Z /.test(text),
        () => true,
      ),
    )
  })

  it('in the middle of a load leaves nothing either', async () => {
    const at = await makeHome({ a: { knobs: { hold_load: true }, autoload: true } })
    const first = await serve(at)
    await eventually(async () => (await at.enginePids()).length === 1)
    first.child.process.kill('SIGKILL')
    await first.child.ended
    await at.writeSlot('a', {})
    const second = await serve(at)
    expect(await at.enginePids()).toEqual([])
    expect((await chat(second.url)).status).toBe(200)
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
    const { url } = await serve(at)
    const { slots } = (await (await fetch(`${url}/api/slots`)).json()) as { slots: { name: string; state: string }[] }
    expect(slots.map((row) => row.state)).toEqual(['offline', 'offline'])
    expect((await chat(url)).status).toBe(200)
  })
})

describe('a copy of a home', () => {
  it('is another home: starting it leaves the engines of the first alone', async () => {
    const at = await makeHome({ a: {} })
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const engines = await at.enginePids()
    const copy = `${at.folder}-copy`
    await cp(at.folder, copy, { recursive: true })
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

describe('on_exit = keep', () => {
  it('leaves the engine to itself; the daemon exits all the same, and the next one ends it', async () => {
    const at = await makeHome({ a: {} }, { slots: { on_exit: 'keep' } })
    const first = await serve(at)
    expect((await chat(first.url)).status).toBe(200)
    const [engine] = await at.enginePids()
    first.child.process.kill('SIGTERM')
    expect((await first.child.ended).code).toBe(0)
    expect(await at.enginePids()).toEqual([engine])
    await writeFile(join(at.home.etc, 'hal0.toml'), '')
    await serve(at)
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

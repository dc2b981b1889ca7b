import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { slotStatePath } from '../../src/files/home.ts'
import { eventually, HELLO_GGUF, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { fakeControl } from '../support/start-fake.ts'

const fileOf = (at: TestDaemon, slot: string) => join(at.home.etc, 'slots', `${slot}.toml`)

/** The same file with another number of threads, as a text. */
async function withThreads(at: TestDaemon, slot: string, threads: number): Promise<string> {
  const text = await readFile(fileOf(at, slot), 'utf8')
  return `threads = ${threads}\n${text.replace(/^threads = .*\n/m, '')}`
}

const waits = (at: TestDaemon, slot: string, ...keys: string[]) =>
  eventually(() => at.row(slot).restart_needed.join() === keys.join())

/** A long answer of slot `a`: resolves once it has begun. */
async function stream(at: TestDaemon) {
  const response = await at.chat({
    model: 'a',
    stream: true,
    max_tokens: 100_000,
    ignore_eos: true,
    fake: { tokens_per_second: 50 },
  })
  expect(response.status).toBe(200)
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('no body')
  await reader.read()
  return {
    /** Resolves with the next bytes: the stream is alive. */
    goesOn: async () => expect((await reader.read()).done).toBe(false),
    end: () => reader.cancel(),
  }
}

describe('an edit of a slot file', () => {
  it('of slot B, in every way that editors write, leaves the stream of A alone and stops nothing', async () => {
    const at = await startTestDaemon({ a: {}, b: {} })
    await at.load('a')
    await at.load('b')
    const before = [at.row('a').pid, at.row('b').pid]
    const answer = await stream(at)

    await writeFile(fileOf(at, 'b'), await withThreads(at, 'b', 3))
    await waits(at, 'b', 'threads')
    const replaced = `${fileOf(at, 'b')}.tmp-1`
    await writeFile(replaced, (await withThreads(at, 'b', 0)).replace('threads = 0\n', ''))
    await rename(replaced, fileOf(at, 'b'))
    await waits(at, 'b')
    await mkdir(join(at.folder, 'v2'))
    await writeFile(join(at.folder, 'v2', 'b.toml'), await withThreads(at, 'b', 2))
    await symlink(join(at.folder, 'v2', 'b.toml'), replaced)
    await rename(replaced, fileOf(at, 'b'))
    await waits(at, 'b', 'threads')
    // What editors leave beside it is no slot.
    await writeFile(`${fileOf(at, 'b')}~`, 'nonsense')
    await writeFile(join(at.home.etc, 'slots', '.b.toml.swp'), 'nonsense')

    await answer.goesOn()
    expect([at.row('a').pid, at.row('b').pid]).toEqual(before)
    expect(at.row('a').restart_needed).toEqual([])
    expect(
      at.events.filter((event) => event.type === 'slot.config_changed').map((event) => event.source),
    ).not.toContain('slot:a')
    // The next start has it.
    await at.daemon.slots.restart('b', { drainMs: 0 })
    expect(at.row('b')).toMatchObject({ state: 'ready', restart_needed: [] })
    const { argv } = await fakeControl(`http://127.0.0.1:${at.row('b').port}`).state()
    expect(argv.join(' ')).toContain('--threads 2')
    await answer.goesOn()
    await answer.end()
  })

  it('of the slot that streams says what waits for a restart, and an explicit load restarts it once', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    const { pid } = at.row('a')
    const answer = await stream(at)
    await writeFile(fileOf(at, 'a'), `${await withThreads(at, 'a', 5)}\n[tune]\nctx_size = 512\n`)
    await waits(at, 'a', 'ctx_size', 'threads')
    await answer.goesOn()
    expect(at.row('a').pid).toBe(pid)
    // A request's implicit load never restarts it.
    expect((await at.chat({ model: 'a' })).status).toBe(200)
    expect(at.row('a').pid).toBe(pid)
    await answer.end()
    await at.daemon.slots.load('a')
    expect(at.row('a').pid).not.toBe(pid)
    expect(at.row('a')).toMatchObject({ ctx_effective: 512, ctx_source: 'slot', restart_needed: [] })
  })

  it('of a live key has effect at once', async () => {
    const at = await startTestDaemon({ a: {} })
    const engine = await at.load('a')
    const { pid } = at.row('a')
    await writeFile(
      fileOf(at, 'a'),
      `aliases = ["ay"]\n${await readFile(fileOf(at, 'a'), 'utf8')}\n[tune]\nenable_thinking = false\n`,
    )
    await at.event((event) => event.type === 'slot.config_changed' && event.data['slot'] === 'a')
    const answer = await at.chat({ model: 'ay' })
    expect([answer.status, answer.headers.get('x-hal0-route')]).toEqual([200, null])
    expect(await answer.json()).toMatchObject({ model: 'ay' })
    const sent = { model: 'a', messages: [{ role: 'user', content: 'hi' }] }
    const put = '"chat_template_kwargs":{"enable_thinking":false},'
    expect((await engine.state()).last_request).toMatchObject({ body_bytes: JSON.stringify(sent).length + put.length })
    expect([at.row('a').pid, at.row('a').restart_needed]).toEqual([pid, []])
  })

  it('that is wrong keeps what runs, refuses the next start, and costs no restart when it is mended', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    const { pid } = at.row('a')
    const right = await readFile(fileOf(at, 'a'), 'utf8')
    await writeFile(fileOf(at, 'a'), `${right}\nnonsense = 1\n`)
    // Seen in the middle of the write, the file is empty, which is wrong in another way.
    await eventually(() => at.row('a').config_problem?.includes('nonsense') === true)
    expect((await at.chat({ model: 'a' })).status).toBe(200)
    await expect(at.daemon.slots.load('a')).rejects.toMatchObject({ code: 'config.invalid' })
    expect(at.row('a')).toMatchObject({ state: 'ready', pid })
    await at.daemon.slots.unload('a', { drainMs: 0 })
    const refused = await at.chat({ model: 'a' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, null])
    expect(await refused.json()).toMatchObject({ error: { code: 'config.invalid' } })
    await writeFile(fileOf(at, 'a'), right)
    await eventually(() => at.row('a').state === 'offline')
    expect((await at.chat({ model: 'a' })).status).toBe(200)
  })
})

describe('a model that was swapped in', () => {
  it('makes way for an edit of what the file binds', async () => {
    const at = await startTestDaemon({ a: {} })
    const api = (method: string, path: string, body: object) =>
      fetch(`${at.daemon.url}/api/slots/a${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then((answer) => answer.json())
    await at.load('a')
    expect(await api('POST', '/swap', { model_id: 'twin' })).toMatchObject({ model_id: 'twin', file_model_id: 'hello' })
    expect(await api('PUT', '/config', { threads: 2 })).toMatchObject({ restart_needed: ['threads'] })
    expect(at.row('a').model_id).toBe('twin')
    const edit = await api('PUT', '/config', { threads: null, profile: 'coding' })
    expect(edit).toMatchObject({ changed: ['profile', 'threads'], problem: null })
    expect(at.row('a').restart_needed).toContain('model')
    await at.daemon.slots.load('a')
    expect(at.row('a')).toMatchObject({ model_id: 'hello', profile: 'coding', restart_needed: [] })
  })

  it('of which an edit says when it could not start', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.load('a')
    const answer = await fetch(`${at.daemon.url}/api/slots/a/config`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ binary: 'vllm' }),
    })
    expect(await answer.json()).toMatchObject({ changed: ['binary'], problem: expect.stringContaining('vllm') })
    expect(at.row('a')).toMatchObject({ state: 'ready', restart_needed: [] })
  })
})

describe('slot files that come and go', () => {
  it('make and remove slots without a restart of hal0; one that runs stays until it is stopped', async () => {
    const at = await startTestDaemon({ a: {} })
    await at.writeSlot('b', {})
    await eventually(() => at.daemon.slots.row('b') !== undefined)
    expect((await at.chat({ model: 'b' })).status).toBe(200)
    await rm(fileOf(at, 'a'))
    await eventually(() => at.daemon.slots.row('a') === undefined)
    await rm(fileOf(at, 'b'))
    await eventually(() => at.row('b').config_problem !== null)
    expect((await at.chat({ model: 'b' })).status).toBe(200)
    await at.daemon.slots.unload('b', { drainMs: 0 })
    await eventually(() => at.daemon.slots.row('b') === undefined)
  })
})

describe('hal0.toml', () => {
  it('applies what can be applied, and keeps the last good one while it is wrong', async () => {
    const at = await startTestDaemon({ a: {} })
    const file = join(at.home.etc, 'hal0.toml')
    const right = await readFile(file, 'utf8')
    await writeFile(file, `${right}\n[dispatcher]\nunknown_model = "reject"\n`)
    await eventually(async () => (await at.chat({ model: 'nobody' })).status === 404)
    await writeFile(file, `${right}\n[dispatcher]\nunknown_modle = "agent"\n`)
    await at.event((event) => event.type === 'config.invalid' && event.message.includes('did you mean unknown_model?'))
    expect((await at.chat({ model: 'nobody' })).status).toBe(404)
    expect((await at.chat({ model: 'a' })).status).toBe(200)
    await writeFile(file, right)
    await at.event((event) => event.type === 'config.restored')
  })
})

describe('a registered model that no slot binds', () => {
  it('is there again when its slot is deleted, and its callers are told to come back meanwhile', async () => {
    const at = await startTestDaemon({ a: {} })
    expect((await at.chat({ model: 'twin' })).status).toBe(200)
    const answer = await at.chat({ model: 'twin', stream: true, max_tokens: 100_000, ignore_eos: true })
    const reader = answer.body?.getReader()
    await reader?.read()
    const deleted = fetch(`${at.daemon.url}/api/slots/scratch?drain_s=60`, { method: 'DELETE' })
    await eventually(async () => {
      const refused = await at.chat({ model: 'twin' })
      const isTold = refused.status === 503 && refused.headers.get('retry-after') !== null
      await refused.text()
      return isTold
    })
    await reader?.cancel()
    expect((await deleted).status).toBe(204)
    expect((await at.chat({ model: 'twin' })).status).toBe(200)
    // A file made by hand is that slot.
    expect((await fetch(`${at.daemon.url}/api/slots/scratch`, { method: 'DELETE' })).status).toBe(204)
    await writeFile(fileOf(at, 'scratch'), 'name = "scratch"\nbinary = "cpu"\nautoload = false\n')
    expect((await at.chat({ model: 'twin' })).status).toBe(200)
  })

  it('is loaded into the on-demand slot, and models take turns there without a cut', async () => {
    const at = await startTestDaemon({ a: {} })
    const first = await at.chat({ model: 'twin' })
    expect([first.status, at.row('scratch').model_id]).toEqual([200, 'twin'])
    expect(await first.json()).toMatchObject({ model: 'twin' })
    expect(await readFile(fileOf(at, 'scratch'), 'utf8')).not.toContain('twin')
    await writeFile(
      join(at.home.etc, 'models.toml'),
      `${await readFile(join(at.home.etc, 'models.toml'), 'utf8')}\n[models.third]\npath = ${JSON.stringify(HELLO_GGUF)}\n`,
    )
    await eventually(async () => (await at.chat({ model: 'third' })).status === 200)
    const answers = await Promise.all(
      ['twin', 'third', 'twin', 'third', 'twin', 'third'].map(async (model) => {
        const answer = await at.chat({ model })
        return [answer.status, JSON.parse(await answer.text()).model]
      }),
    )
    expect(answers).toEqual(['twin', 'third', 'twin', 'third', 'twin', 'third'].map((model) => [200, model]))
    await at.daemon.slots.unload('scratch', { drainMs: 0 })
    expect(at.row('scratch').model_id).toBeNull()
  })
})

describe('a slot that is being deleted', () => {
  it('takes no edit and no new name; a second delete without patience ends the first; nothing of it stays', async () => {
    const at = await startTestDaemon({ a: { knobs: { hold_after_tokens: 1, headers_early: true } }, b: {} })
    await at.load('a')
    const answer = await at.chat({ stream: true })
    const api = (method: string, path: string, body?: object) =>
      fetch(`${at.daemon.url}/api/slots/a${path}`, {
        method,
        ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      })
    const patient = api('DELETE', '')
    await eventually(async () => (await api('POST', '/load')).status === 404)
    for (const refused of [
      api('PUT', '/config', { priority: 3 }),
      api('POST', '/rename', { to: 'c' }),
      api('POST', '/load'),
      api('POST', '/swap', { model_id: 'twin', persist: true }),
    ]) {
      expect(await (await refused).json()).toMatchObject({ error: { code: 'slot.not_found' } })
    }
    const impatient = await api('DELETE', '?drain_s=0')
    expect([(await patient).status, impatient.status]).toEqual([204, 204])
    expect(await answer.text()).toContain('slot.unloading')
    expect(await at.enginePids()).toEqual([])
    expect(at.daemon.slots.rows().map((row) => row.name)).toEqual(['b'])
    await expect(readFile(slotStatePath(at.home, 'a'))).rejects.toThrow('ENOENT')
  })
})

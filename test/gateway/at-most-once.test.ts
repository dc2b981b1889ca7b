import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { FAKE_ENGINE, type FakeKnobs } from '../support/start-fake.ts'

interface Told {
  readonly id: string
  readonly status: number
  readonly text: string
}

/** The fake engine, keeping a list of the requests that it has read, which survives its death. */
function wrapperOf(log: string): string {
  return `#!/usr/bin/env node
import { appendFileSync } from 'node:fs'
import { Server } from 'node:http'
const { emit } = Server.prototype
Server.prototype.emit = function (name, req, ...more) {
  // Only what clients ask has an id: hal0's own question after a start has none.
  if (name === 'request' && req.method === 'POST' && req.headers['x-request-id'] !== undefined) {
    // In the same turn as it came out of the kernel; a body this small comes with its head.
    appendFileSync(${JSON.stringify(log)}, req.headers['x-request-id'] + '\\n')
  }
  return emit.call(this, name, req, ...more)
}
await import(${JSON.stringify(pathToFileURL(FAKE_ENGINE).href)})
`
}

async function begin(knobs: FakeKnobs) {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-once-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const log = join(folder, 'executed')
  const binary = join(folder, 'engine.mjs')
  await writeFile(log, '')
  await writeFile(binary, wrapperOf(log))
  await chmod(binary, 0o755)
  const at = await startTestDaemon({ a: { knobs } }, { runners: { cpu: { binary } } })
  await at.load('a')
  /** Request ids that an engine has read, once for each time. */
  const executed = async () => (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '')
  return { at, executed }
}

/**
 * So many clients, each with so many requests, one right after the other. Where the slot has to wait after a crash, a person
 * starts it and the request is made again, under the same id: what was refused must not have been carried out.
 */
async function ask(at: TestDaemon, clients: number, each: number, body: object = {}): Promise<readonly Told[]> {
  const told: Told[] = []
  const client = async (_: unknown, nth: number) => {
    for (let n = 0; n < each; n++) {
      const id = `client-${nth}-${n}`
      const headers = { 'content-type': 'application/json', 'x-request-id': id }
      for (;;) {
        const answer = await at.chat({ max_tokens: 3, ...body }, { headers })
        const text = await answer.text()
        if (answer.status !== 503 || !text.includes('slot.crash_looping')) {
          told.push({ id, status: answer.status, text })
          break
        }
        // One that is killed while it loads is asked for again with the next request.
        await at.daemon.slots.load('a').catch(() => undefined)
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return told
}

const failed = (told: readonly Told[]) => told.filter(({ status }) => status !== 200)
/** A request may be lost with the engine that it was written to, but not for want of one. */
const lostUnsent = (told: readonly Told[]) =>
  failed(told).filter(({ status, text }) => status !== 502 || text.includes('cannot be reached'))
const repeated = (ids: readonly string[]) => ids.filter((id, at) => ids.indexOf(id) !== at)

describe('a request is carried out once, and never twice', () => {
  it('by an engine that closes after each answer', async () => {
    const { at, executed } = await begin({ close_after_answer: true })
    expect(failed(await ask(at, 8, 25))).toEqual([])
    expect(await executed()).toHaveLength(200)
  }, 60_000)

  it('by an engine that keeps its connections', async () => {
    const { at, executed } = await begin({})
    expect(failed(await ask(at, 8, 50))).toEqual([])
    expect(await executed()).toHaveLength(400)
  }, 60_000)

  it('by an engine that ends idle connections early', async () => {
    const { at, executed } = await begin({ keep_alive_ms: 30 })
    const told = [...(await ask(at, 8, 15)), ...(await ask(at, 1, 15, { fake: { stall_first_ms: 28 } }))]
    expect(failed(told)).toEqual([])
    expect(await executed()).toHaveLength(135)
  }, 60_000)

  it('by an engine that is killed over it', async () => {
    const { at, executed } = await begin({ stall_first_ms: 12 })
    let isOver = false
    let kills = 0
    const killer = async () => {
      for (let seen = 0; !isOver; ) {
        const { length } = await executed()
        const { pid, state } = at.row('a')
        // In the middle of the work, some requests answered since the last time.
        if (pid !== null && state === 'serving' && length > seen + 20) {
          process.kill(pid, 'SIGKILL')
          kills++
          seen = length
        }
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    const killing = killer()
    const told = await ask(at, 8, 40)
    isOver = true
    await killing
    const ids = await executed()
    expect(kills).toBeGreaterThan(2)
    expect(repeated(ids)).toEqual([])
    expect(lostUnsent(told)).toEqual([])
  }, 60_000)

  it.each(['exit', 'cut', 'reset'])(
    'when it is what ends the engine (%s): told at once, and not tried again',
    async (die_how) => {
      const { at, executed } = await begin({})
      expect(failed(await ask(at, 1, 3))).toEqual([])
      // The connection has rested, and is used again.
      await new Promise((resolve) => setTimeout(resolve, 150))
      const poison = await ask(at, 1, 1, { fake: { die_after_tokens: 0, die_how } })
      expect(poison.map(({ status }) => status)).toEqual([502])
      expect(await executed()).toHaveLength(4)
    },
  )

  it('when its engine was gone before it was written: another engine is waited for', async () => {
    const { at, executed } = await begin({ exit_after_requests: 5 })
    const told = await ask(at, 4, 50)
    expect(repeated(await executed())).toEqual([])
    expect(lostUnsent(told)).toEqual([])
  }, 60_000)
})

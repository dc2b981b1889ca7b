import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'smol-toml'
import { onTestFinished } from 'vitest'
import type { Hal0Event } from '../../src/contract/events.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import { type Daemon, startDaemon } from '../../src/daemon.ts'
import { type Home, homeAt } from '../../src/files/home.ts'
import { openHomeId } from '../../src/files/home-id.ts'
import { lookAtProcesses } from '../../src/runtimes/process/proc.ts'
import { FAKE_ENGINE, type FakeControl, type FakeKnobs, fakeControl } from './start-fake.ts'

export const HELLO_GGUF = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))

/** A slot of a test home: runs the fake engine unless `runner` says otherwise. */
export interface TestSlot {
  readonly runner?: string
  readonly knobs?: FakeKnobs
  readonly autoload?: boolean
  readonly model?: string
  /** Explicit port; absent = hal0 chooses. */
  readonly port?: number
}

export interface TestHome {
  readonly home: Home
  readonly folder: string
  /** Writes (again) one slot's file. */
  writeSlot(name: string, slot: TestSlot): Promise<void>
  /** Processes of this home's engines that are alive, whoever started them. */
  enginePids(): Promise<readonly number[]>
}

/** A home in a temporary folder with two ids for one model file, `hello` and `twin`; gone when the test is over. `settings`: tables of hal0.toml. */
export async function makeHome(
  slots: Readonly<Record<string, TestSlot>>,
  settings: Readonly<Record<string, object>> = {},
): Promise<TestHome> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-test-'))
  const home = homeAt(folder)
  const homeId = await openHomeId(home)
  const enginePids = async () => {
    const all = await lookAtProcesses(() => true)
    return all.filter(({ cookie }) => cookie?.startsWith(`${homeId}:`)).map(({ pid }) => pid)
  }
  onTestFinished(async () => {
    // Also after a failed test nothing stays behind; whoever was to end them has had the chance.
    const left = await enginePids()
    for (const pid of left) process.kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`engines left behind: ${left.join(', ')}`)
  })
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  const { runners, ...others } = settings
  const text = stringify({ ...others, runners: { cpu: { binary: FAKE_ENGINE }, ...runners } })
  await writeFile(join(home.etc, 'hal0.toml'), text)
  await writeFile(
    join(home.etc, 'models.toml'),
    stringify({ models: { hello: { path: HELLO_GGUF }, twin: { path: HELLO_GGUF } } }),
  )
  const writeSlot = (name: string, slot: TestSlot) =>
    writeFile(
      join(home.etc, 'slots', `${name}.toml`),
      stringify({
        name,
        binary: slot.runner ?? 'cpu',
        ...(slot.port === undefined ? {} : { port: slot.port }),
        autoload: slot.autoload ?? false,
        model: { default: slot.model ?? 'hello' },
        server: { env: slot.knobs === undefined ? {} : { FAKE_KNOBS: JSON.stringify(slot.knobs) } },
      }),
    )
  for (const [name, slot] of Object.entries(slots)) await writeSlot(name, slot)
  return { home, folder, writeSlot, enginePids }
}

export interface TestDaemon extends TestHome {
  readonly daemon: Daemon
  /** Every event so far, oldest first. */
  readonly events: readonly Hal0Event[]
  /** Resolves with the first event (also a past one) that `matches`; the test's own deadline bounds it. */
  event(matches: (event: Hal0Event) => boolean): Promise<Hal0Event>
  /** States the slot went through so far, in order. */
  states(slot: string): readonly string[]
  row(slot: string): SlotRow
  /** Loads the slot and gives the control routes of its fake engine. */
  load(slot: string): Promise<FakeControl>
  /** A chat request to the gateway; `body` is merged over a short default. */
  chat(body: Readonly<Record<string, unknown>>, init?: RequestInit): Promise<Response>
}

/** A real daemon in this process on a port of the kernel's choice. When the test ends it is stopped, and nothing of it may be left. */
export async function startTestDaemon(
  slots: Readonly<Record<string, TestSlot>>,
  settings: Readonly<Record<string, object>> = {},
): Promise<TestDaemon> {
  const at = await makeHome(slots, settings)
  const daemon = await startDaemon({ home: at.home, port: 0 })
  onTestFinished(() => daemon.stop({ drainMs: 0 }))
  const events: Hal0Event[] = []
  const watchers = new Set<() => void>()
  daemon.bus.subscribe({
    afterId: 0,
    onEvent: (event) => {
      events.push(event)
      for (const watcher of watchers) watcher()
    },
  })
  const row = (slot: string): SlotRow => {
    const found = daemon.slots.row(slot)
    if (found === undefined) throw new Error(`no slot ${slot}`)
    return found
  }
  return {
    ...at,
    daemon,
    events,
    row,
    event: (matches) =>
      new Promise((resolve) => {
        const look = () => {
          const found = events.find(matches)
          if (found === undefined) return
          watchers.delete(look)
          resolve(found)
        }
        watchers.add(look)
        look()
      }),
    states: (slot) =>
      events
        .filter((event) => event.type === 'slot.state' && event.data['slot'] === slot)
        .map((event) => String(event.data['to'])),
    load: async (slot) => fakeControl(`http://127.0.0.1:${(await daemon.slots.load(slot)).port}`),
    chat: (body, init = {}) =>
      fetch(`${daemon.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'a', messages: [{ role: 'user', content: 'hi' }], ...body }),
        ...init,
      }),
  }
}

/** Polls a condition that nothing announces, without a fixed number of looks: the test's own deadline bounds it. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

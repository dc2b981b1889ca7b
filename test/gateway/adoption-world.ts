import { readFile } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import { openHomeId } from '../../src/files/home-id.ts'
import { lookAtProcesses } from '../../src/runtimes/process/proc.ts'
import { parseCookie } from '../../src/runtimes/process/rules/engine-cookie.ts'
import { eventually, makeHome, type TestHome, type TestSlot } from '../support/daemon-harness.ts'
import { type CliChild, startCli } from '../support/run-cli.ts'
import { type FakeControl, fakeControl } from '../support/start-fake.ts'

export interface ServedEvent {
  readonly type: string
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** `hal0 serve` as a process of its own, which can be killed like any other. */
export interface Served {
  readonly child: CliChild
  readonly url: string
  row(slot: string): Promise<SlotRow>
  rows(): Promise<readonly SlotRow[]>
  /** Resolves with the row as soon as it `matches`; the test's own deadline bounds it. */
  until(slot: string, matches: (row: SlotRow) => boolean): Promise<SlotRow>
  events(type?: string): Promise<readonly ServedEvent[]>
  post(path: string, body?: unknown): Promise<Response>
  /** A chat request; `body` is merged over a short default. */
  chat(slot: string, body?: Readonly<Record<string, unknown>>): Promise<Response>
  /** The control routes of the slot's fake engine. */
  engine(slot: string): Promise<FakeControl>
  kill9(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  end(): Promise<number | null>
}

/** Starts a daemon on the home (or on `folder`, where the home has been moved); ended with the test. */
export async function serve(at: Pick<TestHome, 'folder'>): Promise<Served> {
  const child = startCli(['--home', at.folder, 'serve', '--port', '0'], { userFolder: at.folder })
  onTestFinished(async () => {
    // Twice: a stream that a failed test left behind is not waited for.
    child.process.kill('SIGTERM')
    child.process.kill('SIGTERM')
    await child.ended
  })
  const [, url = ''] = await child.until('stdout', /(http:\/\/127\.0\.0\.1:\d+)/)
  const json = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json()
  const row = async (slot: string) => (await json(`/api/slots/${slot}`)) as SlotRow
  const send = (path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    child,
    url,
    row,
    rows: async () => ((await json('/api/slots')) as { slots: SlotRow[] }).slots,
    until: async (slot, matches) => {
      let seen = await row(slot)
      await eventually(async () => {
        seen = await row(slot)
        return matches(seen)
      })
      return seen
    },
    events: async (type) => {
      const { events } = (await json('/api/events')) as { events: ServedEvent[] }
      return type === undefined ? events : events.filter((event) => event.type === type)
    },
    post: send,
    chat: (slot, body = {}) =>
      send('/v1/chat/completions', { model: slot, messages: [{ role: 'user', content: 'hi' }], ...body }),
    engine: async (slot) => fakeControl(`http://127.0.0.1:${(await row(slot)).port}`),
    kill9: async () => {
      child.process.kill('SIGKILL')
      await child.ended
    },
    end: async () => {
      child.process.kill('SIGTERM')
      return (await child.ended).code
    },
  }
}

/** A home whose slots take their ports where no other test's do: a port that an engine leaves is to be had by whom the test wants. */
export function makeOwnHome(
  slots: Readonly<Record<string, TestSlot>>,
  settings: Readonly<Record<string, object>> = {},
): Promise<TestHome> {
  // Below the range out of which the kernel gives ports, above those that `fetch` refuses.
  const low = 11_000 + Math.floor(Math.random() * 950) * 20
  return makeHome(slots, { ...settings, slots: { port_range: [low, low + 19], ...settings['slots'] } })
}

/** The living engines of the home: by slot the first process of each start. */
export async function enginesOf(at: TestHome): Promise<Readonly<Record<string, readonly number[]>>> {
  const homeId = await openHomeId(at.home)
  const table = await lookAtProcesses(() => true)
  const byCookie = new Map<string, { slot: string; pid: number; startTicks: number }>()
  for (const { pid, startTicks, cookie } of table) {
    const parsed = cookie === undefined ? undefined : parseCookie(cookie)
    if (cookie === undefined || parsed?.homeId !== homeId) continue
    const before = byCookie.get(cookie)
    if (before === undefined || startTicks < before.startTicks)
      byCookie.set(cookie, { slot: parsed.slot, pid, startTicks })
  }
  const found: Record<string, number[]> = {}
  for (const { slot, pid } of byCookie.values()) found[slot] = [...(found[slot] ?? []), pid]
  return found
}

/** Whether the process runs (a zombie does not). */
export async function isRunning(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return text !== undefined && !/^\d+ \(.*\) Z/s.test(text)
}

/** The fake engine of a slot that loads, as soon as it answers at all: only from then on its knobs count, also those of its end. */
export async function listening(daemon: Served, slot: string): Promise<FakeControl> {
  const engine = await daemon.engine(slot)
  await eventually(() =>
    engine.state().then(
      () => true,
      () => false,
    ),
  )
  return engine
}

/** Can serve, or only has no model. */
export const isUp = ({ state }: SlotRow): boolean => ['ready', 'serving', 'idle'].includes(state)

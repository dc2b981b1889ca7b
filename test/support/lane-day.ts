import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'smol-toml'
import type { Hal0Event } from '../../src/contract/events.ts'
import type { LaneExplanation, LaneRow } from '../../src/contract/lane.ts'
import type { ReservationMade, ReservationRow } from '../../src/contract/reservation.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { UserMade } from '../../src/contract/user.ts'
import { makeOwnHome, serve } from '../gateway/adoption-world.ts'
import { HELLO_GGUF, type TestHome } from './daemon-harness.ts'
import { becomes } from './lane-day-waits.ts'

const HELLO_F16_GGUF = fileURLToPath(new URL('../../models/hello-f16.gguf', import.meta.url))
const LLAMA_SERVER = process.env['HAL0_TEST_LLAMA_SERVER']

/** The day's settings, in seconds: those of `[scheduler]`, and how long before a booking its lane gets ready at least. */
export const SCHEDULER = { tick_seconds: 1, buffer_seconds: 1, drain_seconds: 3, stop_timeout_seconds: 6 } as const
export const MIN_PRELOAD_S = 2

export const LANES = ['cpu0', 'cpu1'] as const
export type LaneName = (typeof LANES)[number]
export type ModelName = 'hello' | 'hello-f16'

/**
 * Of every target of the day. Two requests at once: a holder is served beside the last ones of whoever was before. Streams of a llama-server come
 * to no end by themselves: it forgets the oldest tokens. The embedded engine ends them where the model's window ends.
 */
const FLAGS = ['--parallel', '2', ...(LLAMA_SERVER === undefined ? [] : ['--context-shift'])]

export interface Person {
  readonly name: string
  readonly id: string
  readonly key: string
}

export interface Wish {
  readonly lane: LaneName
  readonly startMs: number
  readonly endMs: number
  /** Absent = exclusive. */
  readonly model?: ModelName
}

/** A daemon with two lanes and two models, an admin and two members with keys. Whatever is done to it goes through its API. */
export interface LaneWorld extends TestHome {
  readonly url: string
  readonly admin: Person
  readonly ada: Person
  readonly ben: Person
  /** As the admin; anything but a success is an error. */
  get<T>(path: string): Promise<T>
  lane(name: LaneName): Promise<LaneRow>
  slot(name: LaneName): Promise<SlotRow>
  explain(lane: LaneName): Promise<LaneExplanation>
  events(): Promise<readonly Hal0Event[]>
  /** By hand, and waits until it is ready; undefined = takes the choice back, and waits until that is done. */
  choose(lane: LaneName, model: ModelName | undefined): Promise<void>
  book(by: Person, wish: Wish): Promise<ReservationRow>
}

/** `cpu0` runs `hello` by itself, `cpu1` nothing. Stopped, with all engines, when the test ends. */
export async function startLaneWorld(): Promise<LaneWorld> {
  const runners = LLAMA_SERVER === undefined ? {} : { runners: { cpu: { binary: LLAMA_SERVER } } }
  // Who names a model that only a closed lane has is told so: no other slot loads it for them.
  const dispatcher = { on_demand_slot: '' }
  const at = await makeOwnHome({}, { scheduler: SCHEDULER, dispatcher, ...runners })
  const models = { hello: { path: HELLO_GGUF }, 'hello-f16': { path: HELLO_F16_GGUF } }
  await writeFile(join(at.home.etc, 'models.toml'), stringify({ models }))
  // A process of its own: what the test's clients take of theirs must not hold up the lanes.
  const { url } = await serve(at)

  async function call<T>(by: Person | undefined, method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(by === undefined ? {} : { authorization: `Bearer ${by.key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }

  async function addUser(name: string, role: string, by?: Person): Promise<Person> {
    const made = await call<UserMade>(by, 'POST', '/api/users', { name, role, key_name: 'day' })
    if (made.key === null) throw new Error(`no key was made for ${name}`)
    return { name, id: made.user.id, key: made.key.secret }
  }
  const admin = await addUser('root', 'admin')
  const [ada, ben] = [await addUser('ada', 'member', admin), await addUser('ben', 'member', admin)]
  await call(admin, 'POST', '/api/profiles', { name: 'day', flags: FLAGS })
  const runner = LLAMA_SERVER === undefined ? 'embedded' : 'cpu'
  // One thread each: engines that share cores wait for their own threads by spinning, and all else on the machine waits for them.
  const own = {
    device: 'cpu',
    runner,
    threads: 1,
    min_preload_s: MIN_PRELOAD_S,
    allow_exclusive: true,
    limits: { min_minutes: 0 },
  }
  await call(admin, 'POST', '/api/lanes', { name: 'cpu0', ...own, default: { model: 'hello', profile: 'day' } })
  await call(admin, 'POST', '/api/lanes', { name: 'cpu1', ...own })

  const lane = (name: LaneName) => call<LaneRow>(admin, 'GET', `/api/lanes/${name}`)
  return {
    ...at,
    url,
    ...{ admin, ada, ben, lane },
    get: (path) => call(admin, 'GET', path),
    slot: (name) => call(admin, 'GET', `/api/slots/${name}`),
    explain: (name) => call(admin, 'GET', `/api/lanes/${name}/explain`),
    events: async () => (await call<{ events: Hal0Event[] }>(admin, 'GET', '/api/events?limit=1000')).events,
    choose: async (name, model) => {
      if (model === undefined) await call(admin, 'DELETE', `/api/lanes/${name}/manual`)
      else await call(admin, 'POST', `/api/lanes/${name}/manual`, { model, profile: 'day' })
      await becomes(`${name} runs ${model ?? 'what it should'}`, async () => {
        const { phase, target } = await lane(name)
        return phase === (target.kind === 'model' ? 'ready' : 'off')
      })
    },
    book: async (by, { lane: name, startMs, endMs, model }) => {
      const use = model === undefined ? { exclusive: true } : { model, profile: 'day' }
      const times = { start: new Date(startMs).toISOString(), end: new Date(endMs).toISOString() }
      const made = await call<ReservationMade>(by, 'POST', '/api/reservations', { lane: name, ...times, ...use })
      const [row] = made.reservations
      if (row === undefined) throw new Error('nothing was booked')
      return row
    },
  }
}

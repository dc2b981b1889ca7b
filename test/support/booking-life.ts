import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { LaneExplanation, LaneRow } from '../../src/contract/lane.ts'
import type { NotificationRow } from '../../src/contract/notification.ts'
import type { ReservationMade, ReservationRow, ReservationStatus } from '../../src/contract/reservation.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { KeyMade, UserMade } from '../../src/contract/user.ts'
import type { Home } from '../../src/files/home.ts'
import { openHomeId } from '../../src/files/home-id.ts'
import { lookAtProcesses } from '../../src/runtimes/process/proc.ts'
import { furnish, LANE, type LifeOptions, MODELS, type ModelName } from './booking-life-home.ts'
import { type HookReceiver, startHookReceiver } from './notice-receivers.ts'
import { type CliChild, startCli } from './run-cli.ts'
import { type FakeControl, type FakeKnobs, fakeControl } from './start-fake.ts'

/** An admin and a member. */
export type PersonName = 'ada' | 'bob'

export interface Answer<T> {
  readonly status: number
  readonly body: T
}

/** What the lane should be on, in a calendar that a test can read at a glance. */
export interface Expected {
  /** Null = no engine. */
  readonly model: ModelName | null
  /** The engine of before the crash serves on; false = it must be another; absent = either. */
  readonly isAdopted?: boolean
  /** The default serves in the place of what the calendar names. */
  readonly standsInFor?: ModelName
}

/**
 * A home with one lane, an admin `ada` and a member `bob`, a receiver of webhooks, and a daemon that is a process of its own and can be
 * killed like any other. Its engines are fake ones, with knobs by model. No hooks of vitest: several may live at a time.
 */
export interface Life {
  readonly home: Home
  /** Where all of it is. */
  readonly folder: string
  readonly hooks: HookReceiver
  readonly child: CliChild
  readonly url: string
  ask<T>(who: PersonName, method: string, path: string, body?: unknown): Promise<Answer<T>>
  headersOf(who: PersonName): Readonly<Record<string, string>>
  lane(): Promise<LaneRow>
  reservation(id: string): Promise<ReservationRow>
  /** Books for bob; whatever was answered here is looked for when the life is over. */
  book(wish: Readonly<Record<string, unknown>>): Promise<ReservationRow>
  /** Resolves with the lane's row once it matches. */
  until(matches: (lane: LaneRow) => boolean): Promise<LaneRow>
  untilTold(event: string, who?: PersonName): Promise<void>
  setKnobs(model: ModelName, knobs: FakeKnobs): Promise<void>
  /** The control routes of the engine that runs now. */
  engine(): Promise<FakeControl>
  /** A stream of bob's that stands still after its first tokens; its end is nobody's concern. Resolves when it has begun. */
  holdStream(): Promise<void>
  chat(who: PersonName, model?: string): Promise<number>
  enginePids(): Promise<readonly number[]>
  /** SIGKILL at once. */
  kill(): void
  /** The daemon is dead (killed, or about to be); a new one on the same home. */
  restart(): Promise<void>
  /** `kill` and `restart`. */
  crash(): Promise<void>
  /** Is the lane where the calendar says, with this and only this engine? Waits until it is. */
  isOn(expected: Expected): Promise<void>
  expectStatus(id: string, status: ReservationStatus): Promise<void>
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
/** Rarely enough that several daemons and their engines get on meanwhile. */
const LOOK_EVERY_MS = 25
const LONGEST_WAIT_MS = 45_000

/** Awaits what nothing announces; what was seen last is in the error. */
async function untilTrue<T>(what: string, look: () => Promise<T>, matches: (seen: T) => boolean): Promise<T> {
  const deadline = performance.now() + LONGEST_WAIT_MS
  for (;;) {
    const seen = await look()
    if (matches(seen)) return seen
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}: ${JSON.stringify(seen)}`)
    await pause(LOOK_EVERY_MS)
  }
}

/** Lives one life; at its end nothing of it is left, and everything that was promised is looked at. */
export async function live(options: LifeOptions, story: (life: Life) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-life-'))
  const hooks = await startHookReceiver()
  const home = await furnish(folder, hooks.url, options)
  const homeId = await openHomeId(home)
  const enginePids = async () => {
    const all = await lookAtProcesses(() => true)
    return all.filter(({ cookie }) => cookie?.startsWith(`${homeId}:`)).map(({ pid }) => pid)
  }
  const { env = {}, runsByItself = 'hello' } = options
  const life = createLife({ folder, home, hooks, env, enginePids, runsByItself })
  try {
    for (const model of MODELS) await life.setKnobs(model, options.knobs?.[model] ?? {})
    await life.begin()
    await story(life)
    await life.finish()
  } catch (thrown) {
    const log = await readFile(join(home.varLog, 'daemon.log'), 'utf8').catch(() => '')
    throw new Error(`${String(thrown)}\n${log.split('\n').slice(-40).join('\n')}`, { cause: thrown })
  } finally {
    await life.abandon()
    for (const pid of await enginePids()) process.kill(pid, 'SIGKILL')
    await hooks.close()
    await rm(folder, { recursive: true, force: true })
  }
}

interface World extends Pick<Life, 'home' | 'folder' | 'hooks' | 'enginePids'> {
  readonly env: Readonly<Record<string, string>>
  readonly runsByItself: ModelName | null
}

interface WholeLife extends Life {
  /** Starts, makes the people and waits for the lane's default. */
  begin(): Promise<void>
  /** Ends what is booked, ends the daemon, and looks at everything that was promised. */
  finish(): Promise<void>
  abandon(): Promise<void>
}

function createLife({ folder, home, hooks, env, enginePids, runsByItself }: World): WholeLife {
  let child: CliChild | undefined
  let url = ''
  const keys: Record<PersonName, string> = { ada: '', bob: '' }
  const answered = new Set<string>()
  let pidsBefore: readonly number[] = []

  function running(): CliChild {
    if (child === undefined) throw new Error('no daemon runs')
    return child
  }
  async function start(): Promise<void> {
    child = startCli(['--home', folder, 'serve', '--port', '0'], { userFolder: folder, env })
    const [, found = ''] = await child.until('stdout', /(http:\/\/127\.0\.0\.1:\d+)/)
    url = found
  }
  const headersOf = (who: PersonName): Record<string, string> => ({
    'content-type': 'application/json',
    ...(keys[who] === '' ? {} : { authorization: `Bearer ${keys[who]}` }),
  })
  async function ask<T>(who: PersonName, method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${url}${path}`, { method, headers: headersOf(who), ...init })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T }
  }
  async function expectOk<T>(answer: Promise<Answer<T>>): Promise<T> {
    const { status, body } = await answer
    if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`)
    return body
  }
  const lane = () => expectOk(ask<LaneRow>('ada', 'GET', `/api/lanes/${LANE}`))
  const reservation = (id: string) => expectOk(ask<ReservationRow>('bob', 'GET', `/api/reservations/${id}`))
  const slot = () => expectOk(ask<SlotRow>('ada', 'GET', `/api/slots/${LANE}`))
  const until = (matches: (row: LaneRow) => boolean) => untilTrue('the lane', lane, matches)
  async function notices(who: PersonName): Promise<readonly NotificationRow[]> {
    const path = '/api/notifications?limit=500'
    return (await expectOk(ask<{ notifications: NotificationRow[] }>(who, 'GET', path))).notifications
  }
  const setKnobs = (model: ModelName, knobs: FakeKnobs) =>
    writeFile(join(folder, 'knobs', `${model}.json`), JSON.stringify(knobs))

  async function isOn({ model, isAdopted, standsInFor }: Expected): Promise<void> {
    const isThere = ({ phase, current, is_fallback }: LaneRow) =>
      model === null
        ? phase === 'off' && current.kind === 'nothing'
        : phase === 'ready' && nameIn(current) === model && is_fallback === (standsInFor !== undefined)
    const row = await until(isThere)
    const { target } = await expectOk(ask<LaneExplanation>('ada', 'GET', `/api/lanes/${LANE}/explain`))
    expect([nameIn(row.target), nameIn(target)]).toEqual([standsInFor ?? model, standsInFor ?? model])
    const pids = await enginePids()
    const { pid, port } = await slot()
    expect(pids).toEqual(model === null ? [] : [pid])
    if (model === null) return
    const state = await fakeControl(`http://127.0.0.1:${port}`).state()
    expect([state.pid, state.argv.find((word) => word.endsWith('.gguf'))]).toEqual([
      pid,
      join(folder, 'models', `${model}.gguf`),
    ])
    if (isAdopted !== undefined) expect([isAdopted, pidsBefore.includes(pid ?? 0)]).toEqual([isAdopted, isAdopted])
  }

  /** In the app and by webhook: each event of a booking once per person. */
  function expectToldOnce(inApp: Readonly<Record<PersonName, readonly NotificationRow[]>>): void {
    const told = (['ada', 'bob'] as const).flatMap((who) =>
      inApp[who].map(({ reservation_id, event, title }) => ({ key: `${reservation_id} ${event} ${who}`, title })),
    )
    expect(twice(told.map(({ key }) => key))).toEqual([])
    const sent = hooks.got.map(({ headers, body }) => {
      const { id, event, reservation: booking, recipient } = JSON.parse(body) as HookBody
      expect(headers['webhook-id']).toBe(id)
      return { id, key: `${booking.id} ${event} ${recipient.name}` }
    })
    expect(twice(sent.map(({ id }) => id))).toEqual([])
    expect(twice(sent.map(({ key }) => key))).toEqual([])
    // Nobody hears by webhook what the app does not say.
    const keysInApp = new Set(told.map(({ key }) => key))
    expect(sent.filter(({ key }) => !keysInApp.has(key))).toEqual([])
  }

  const kill = () => void running().process.kill('SIGKILL')

  const life: WholeLife = {
    home,
    folder,
    hooks,
    get child() {
      return running()
    },
    get url() {
      return url
    },
    ...{ ask, headersOf, lane, reservation, until, setKnobs, enginePids, kill, isOn },
    async book(wish) {
      const made = await expectOk(
        ask<ReservationMade>('bob', 'POST', '/api/reservations', { lane: LANE, model: 'twin', minutes: 60, ...wish }),
      )
      for (const { id } of made.reservations) answered.add(id)
      const [first] = made.reservations
      if (first === undefined) throw new Error('nothing was booked')
      return first
    },
    untilTold: async (event, who = 'bob') =>
      void (await untilTrue(
        event,
        () => notices(who),
        (rows) => rows.some((row) => row.event === event),
      )),
    engine: async () => {
      const { port } = await untilTrue('an engine', slot, (row) => row.pid !== null && row.port !== null)
      const control = fakeControl(`http://127.0.0.1:${port}`)
      const answers = () =>
        control.state().then(
          () => true,
          () => false,
        )
      await untilTrue('an engine that answers', answers, Boolean)
      return control
    },
    async holdStream() {
      const fake = { hold_after_tokens: 2 }
      const body = { model: LANE, messages: [{ role: 'user', content: 'hi' }], stream: true, fake }
      const init = { method: 'POST', headers: headersOf('bob'), body: JSON.stringify(body) }
      const response = await fetch(`${url}/v1/chat/completions`, init)
      expect(response.status).toBe(200)
      const reader = response.body?.getReader()
      await reader?.read()
      const drain = async () => {
        while (reader !== undefined && !(await reader.read()).done);
      }
      void drain().catch(() => undefined)
    },
    async chat(who, model = LANE) {
      const body = { model, messages: [{ role: 'user', content: 'hi' }] }
      return (await ask(who, 'POST', '/v1/chat/completions', body)).status
    },
    async restart() {
      await running().ended
      pidsBefore = await enginePids()
      await start()
    },
    async crash() {
      kill()
      await life.restart()
    },
    async expectStatus(id, status) {
      const row = await untilTrue(
        status,
        () => reservation(id),
        (seen) => seen.status === status,
      )
      expect(row.lane).toBe(LANE)
    },
    async begin() {
      await start()
      const make = (name: string, role: string) =>
        expectOk(ask<UserMade>('ada', 'POST', '/api/users', { name, role, key_name: 'test' }))
      keys.ada = secretOf(await make('ada', 'admin'))
      keys.bob = secretOf(await make('bob', 'member'))
      await isOn({ model: runsByItself })
    },
    async finish() {
      for (const model of MODELS) await setKnobs(model, {})
      for (const id of answered) {
        const { status } = await reservation(id)
        if (['pending', 'approved', 'active'].includes(status)) {
          await expectOk(ask('bob', 'DELETE', `/api/reservations/${id}`))
        }
      }
      await isOn({ model: runsByItself })
      for (const id of answered) {
        expect(['completed', 'rejected', 'cancelled', 'ended_early']).toContain((await reservation(id)).status)
      }
      const inApp = { ada: await notices('ada'), bob: await notices('bob') }
      // Its end sends what is being sent.
      running().process.kill('SIGTERM')
      expect((await running().ended).code).toBe(0)
      expect(await enginePids()).toEqual([])
      expectToldOnce(inApp)
    },
    async abandon() {
      child?.process.kill('SIGKILL')
      await child?.ended
    },
  }
  return life
}

interface HookBody {
  readonly id: string
  readonly event: string
  readonly reservation: { readonly id: string }
  readonly recipient: { readonly name: PersonName }
}

function nameIn(target: LaneRow['target']): string | null {
  return target.kind === 'model' ? target.model : null
}

function secretOf({ key }: { readonly key: KeyMade | null }): string {
  if (key === null) throw new Error('no key was made')
  return key.secret
}

function twice(keys: readonly string[]): readonly string[] {
  return keys.filter((key, at) => keys.indexOf(key) !== at)
}

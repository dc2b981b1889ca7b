import { once } from 'node:events'
import { watch } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ReservationRow } from '../../src/contract/reservation.ts'
import { type Life, live } from '../support/booking-life.ts'
import type { LifeOptions } from '../support/booking-life-home.ts'
import { eventually } from '../support/daemon-harness.ts'

// A lane's default is `hello`, and bob books `twin`. Whenever the daemon is killed, the next one goes on: the lane comes to where the calendar
// says, no booking whose making was answered is lost, nobody is told anything twice, and there is one engine, or none.

const HOUR_MS = 3_600_000
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const NOW = () => ({ start: inMs(0) })
const SOON = () => ({ start: inMs(HOUR_MS / 2) })
/** Far from any lead. */
const LATER = () => ({ start: inMs(5 * HOUR_MS) })
/** The lead is longer than any of these bookings is away: it is prepared at once. */
const EAGER = { min_preload_s: 7_200 }
const HELD = { hold_load: true }
const FAILS = { exit_during_load: true, load_ms: 40, last_words: 'the engine has lost its way' }
/** Holds on until it is killed, so that a moment of it can be met. */
const STAYS = { slow_stop_ms: 120_000 }

const isActive = async (life: Life, row: ReservationRow) => {
  await life.expectStatus(row.id, 'active')
  await life.until(({ phase, current }) => phase === 'ready' && current.kind === 'model' && current.model === 'twin')
}

/** Sends a request, and does not wait for its answer: `meanwhile` is called when it has left. */
async function sendOnly(life: Life, method: string, path: string, body: unknown, meanwhile: () => void) {
  const sent = request(`${life.url}${path}`, { method, headers: { ...life.headersOf('bob') }, agent: false })
  sent.on('error', () => undefined).on('response', (response) => response.on('error', () => undefined).resume())
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  await once(sent, 'finish')
  meanwhile()
}

/** Five days, all or none: whoever was not answered can book the same, or is told that it is there. */
async function expectWholeOrNot(life: Life, wish: object): Promise<void> {
  const mine = async () =>
    (await life.ask<{ reservations: ReservationRow[] }>('bob', 'GET', '/api/reservations?mine=true')).body.reservations
  const before = await mine()
  expect([0, 5]).toContain(before.length)
  expect((await life.ask('bob', 'POST', '/api/reservations', wish)).status).toBe(before.length === 0 ? 201 : 409)
  const after = await mine()
  expect(after).toHaveLength(5)
  for (const row of after) {
    expect(row).toMatchObject({ status: 'approved', title: 'whole', target: { kind: 'model', model: 'twin' } })
    expect(row.series_id).toBe(after[0]?.series_id)
  }
  expect((await life.ask('bob', 'DELETE', `/api/reservations/${after[0]?.id}?series=true`)).status).toBe(200)
}

const seriesOf = () => ({
  ...{ lane: 'desk', model: 'twin', minutes: 30, title: 'whole', repeat: { every: 'day', count: 5 } },
  ...LATER(),
})

type Step = readonly [name: string, options: LifeOptions, story: (life: Life) => Promise<void>]

const STEPS: readonly Step[] = [
  [
    'made: the request is sent',
    {},
    async (life) => {
      const wish = seriesOf()
      await sendOnly(life, 'POST', '/api/reservations', wish, () => life.kill())
      await life.restart()
      await life.isOn({ model: 'hello', isAdopted: true })
      await expectWholeOrNot(life, wish)
    },
  ],
  [
    'made: it is being written',
    {},
    async (life) => {
      const wish = seriesOf()
      const watcher = watch(join(life.home.varLib, 'hal0.db-wal'), () => {
        watcher.close()
        life.kill()
      })
      await sendOnly(life, 'POST', '/api/reservations', wish, () => undefined)
      await life.restart()
      await life.isOn({ model: 'hello', isAdopted: true })
      await expectWholeOrNot(life, wish)
    },
  ],
  [
    'made: the answer is there',
    {},
    async (life) => {
      const { id } = await life.book({ ...LATER(), title: 'mine' })
      await life.crash()
      await life.isOn({ model: 'hello', isAdopted: true })
      expect(await life.reservation(id)).toMatchObject({ status: 'approved', title: 'mine', owner: { name: 'bob' } })
    },
  ],
  [
    'pending',
    { lane: { approval: 'required', ...EAGER } },
    async (life) => {
      const { id } = await life.book(SOON())
      await life.crash()
      // It blocks its window, and nothing else.
      await life.isOn({ model: 'hello', isAdopted: true })
      await life.expectStatus(id, 'pending')
      await life.untilTold('requested', 'ada')
      const overlapping = { lane: 'desk', minutes: 1, ...SOON() }
      expect((await life.ask('ada', 'POST', '/api/reservations', overlapping)).status).toBe(409)
    },
  ],
  [
    'approved',
    { lane: { approval: 'required', ...EAGER } },
    async (life) => {
      const { id } = await life.book(SOON())
      expect((await life.ask('ada', 'POST', `/api/reservations/${id}/approve`)).status).toBe(200)
      await life.crash()
      await life.isOn({ model: 'twin' })
      await life.expectStatus(id, 'approved')
      await life.untilTold('approved')
    },
  ],
  [
    'before its lead',
    { lane: { min_preload_s: 30 } },
    async (life) => {
      const { id } = await life.book({ start: inMs(33_000) })
      await life.crash()
      await life.isOn({ model: 'twin' })
      await life.expectStatus(id, 'approved')
    },
  ],
  [
    'preload: what runs is drained',
    { lane: EAGER, scheduler: { drain_seconds: 600 } },
    async (life) => {
      await life.holdStream()
      const { id } = await life.book(SOON())
      await life.until(({ phase }) => phase === 'draining')
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: false })
      await life.expectStatus(id, 'approved')
    },
  ],
  [
    'preload: what ran is stopping',
    { lane: EAGER, knobs: { hello: STAYS } },
    async (life) => {
      const { id } = await life.book(SOON())
      await life.until(({ phase }) => phase === 'stopping')
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: false })
      await life.expectStatus(id, 'approved')
    },
  ],
  [
    'preload: loading',
    { lane: EAGER, knobs: { twin: HELD } },
    async (life) => {
      const { id } = await life.book(SOON())
      await life.until(({ phase }) => phase === 'loading')
      await life.engine()
      await life.crash()
      await (await life.engine()).setKnobs({ hold_load: false })
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.expectStatus(id, 'approved')
    },
  ],
  [
    'ready before its start',
    { lane: EAGER },
    async (life) => {
      const { id } = await life.book(SOON())
      await life.isOn({ model: 'twin' })
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.expectStatus(id, 'approved')
    },
  ],
  [
    'started',
    {},
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.expectStatus(row.id, 'active')
      await life.untilTold('started')
      expect([await life.chat('bob'), await life.chat('ada')]).toEqual([200, 403])
    },
  ],
  [
    'a webhook is on its way',
    {},
    async (life) => {
      life.hooks.answer = 'never'
      const row = await life.book(NOW())
      await eventually(() => life.hooks.got.length > 0)
      await isActive(life, row)
      life.kill()
      life.hooks.answer = 204
      await life.restart()
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.untilTold('started')
    },
  ],
  [
    'a stream in flight',
    {},
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      await life.holdStream()
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.expectStatus(row.id, 'active')
      expect(await life.chat('bob')).toBe(200)
    },
  ],
  [
    'its engine stands still',
    { scheduler: { load_timeout_seconds: 3 } },
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      for (const pid of await life.enginePids()) process.kill(pid, 'SIGSTOP')
      await life.crash()
      // It is found, given up, and ended; the default serves until the retry.
      await life.isOn({ model: 'hello', standsInFor: 'twin' })
      await life.expectStatus(row.id, 'active')
      await life.untilTold('fallback')
      expect(await life.chat('bob')).toBe(200)
    },
  ],
  [
    'extended',
    {},
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      expect((await life.ask('bob', 'POST', `/api/reservations/${row.id}/extend`, { minutes: 30 })).status).toBe(200)
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: true })
      expect(Date.parse((await life.reservation(row.id)).end) - Date.parse(row.end)).toBe(30 * 60_000)
    },
  ],
  [
    'fallback',
    { knobs: { twin: FAILS } },
    async (life) => {
      const row = await life.book(NOW())
      await life.isOn({ model: 'hello', standsInFor: 'twin' })
      await life.crash()
      await life.isOn({ model: 'hello', standsInFor: 'twin' })
      await life.expectStatus(row.id, 'active')
      await life.untilTold('fallback')
      await life.untilTold('fallback', 'ada')
      expect(await life.chat('bob')).toBe(200)
    },
  ],
  [
    'fallback, and what failed is mended meanwhile',
    { knobs: { twin: FAILS } },
    async (life) => {
      const row = await life.book(NOW())
      await life.isOn({ model: 'hello', standsInFor: 'twin' })
      life.kill()
      await life.setKnobs('twin', {})
      await life.restart()
      await life.isOn({ model: 'twin', isAdopted: false })
      await life.expectStatus(row.id, 'active')
      await life.untilTold('recovered')
    },
  ],
  [
    'waiting for a retry',
    { runsByItself: null, knobs: { twin: FAILS } },
    async (life) => {
      const row = await life.book(NOW())
      await life.until(({ phase, failures }) => phase === 'waiting' && failures.length === 1)
      await life.crash()
      // It is tried at once, since nobody knows of the failure any more, and told no second time.
      await life.until(({ phase, failures }) => phase === 'waiting' && failures.length === 1)
      expect(await life.enginePids()).toEqual([])
      await life.expectStatus(row.id, 'active')
      await life.setKnobs('twin', {})
      expect((await life.ask('ada', 'POST', '/api/lanes/desk/reload')).status).toBe(200)
      await life.isOn({ model: 'twin' })
      await life.untilTold('recovered')
    },
  ],
  [
    'recovered',
    { knobs: { twin: FAILS } },
    async (life) => {
      const row = await life.book(NOW())
      await life.isOn({ model: 'hello', standsInFor: 'twin' })
      await life.setKnobs('twin', {})
      expect((await life.ask('ada', 'POST', '/api/lanes/desk/reload')).status).toBe(200)
      await life.untilTold('recovered')
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.expectStatus(row.id, 'active')
    },
  ],
  [
    'cancelled while it loads: the request is sent',
    { lane: EAGER, knobs: { twin: HELD } },
    async (life) => {
      const { id } = await life.book(SOON())
      await life.until(({ phase }) => phase === 'loading')
      await life.engine()
      await sendOnly(life, 'DELETE', `/api/reservations/${id}`, undefined, () => life.kill())
      await life.restart()
      const { status } = await life.reservation(id)
      expect(['approved', 'cancelled']).toContain(status)
      if (status === 'approved') await (await life.engine()).setKnobs({ hold_load: false })
      await life.isOn(status === 'approved' ? { model: 'twin', isAdopted: true } : { model: 'hello' })
    },
  ],
  [
    'cancelled while it loads: the answer is there',
    { lane: EAGER, knobs: { twin: HELD } },
    async (life) => {
      const { id } = await life.book(SOON())
      await life.until(({ phase }) => phase === 'loading')
      await life.engine()
      expect((await life.ask('bob', 'DELETE', `/api/reservations/${id}`)).status).toBe(200)
      await life.crash()
      await life.isOn({ model: 'hello', isAdopted: false })
      await life.expectStatus(id, 'cancelled')
    },
  ],
  [
    'ended early',
    {},
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      expect((await life.ask('bob', 'POST', `/api/reservations/${row.id}/end`)).status).toBe(200)
      await life.crash()
      await life.isOn({ model: 'hello' })
      await life.expectStatus(row.id, 'ended_early')
    },
  ],
  [
    'ending: its streams are drained',
    { scheduler: { drain_seconds: 600 } },
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      await life.holdStream()
      const end = inMs(3_000)
      expect((await life.ask('bob', 'PATCH', `/api/reservations/${row.id}`, { end })).status).toBe(200)
      await life.until(({ phase }) => phase === 'draining')
      await life.crash()
      await life.isOn({ model: 'hello', isAdopted: false })
      await life.expectStatus(row.id, 'completed')
      await life.untilTold('ended')
      expect((await life.reservation(row.id)).end).toBe(end)
    },
  ],
  [
    'the next one touches it, with another model',
    { knobs: { third: HELD } },
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      const end = inMs(5_000)
      expect((await life.ask('bob', 'PATCH', `/api/reservations/${row.id}`, { end })).status).toBe(200)
      const next = await life.book({ start: end, model: 'third' })
      await life.until(({ phase, current }) => phase === 'loading' && JSON.stringify(current).includes('third'))
      await life.engine()
      await life.crash()
      await life.expectStatus(row.id, 'completed')
      await life.expectStatus(next.id, 'active')
      await (await life.engine()).setKnobs({ hold_load: false })
      await life.isOn({ model: 'third', isAdopted: true })
    },
  ],
  [
    'the next one touches it, with the same model',
    {},
    async (life) => {
      const row = await life.book(NOW())
      await isActive(life, row)
      const end = inMs(5_000)
      expect((await life.ask('bob', 'PATCH', `/api/reservations/${row.id}`, { end })).status).toBe(200)
      const next = await life.book({ start: end })
      await life.expectStatus(next.id, 'active')
      await life.crash()
      await life.isOn({ model: 'twin', isAdopted: true })
      await life.expectStatus(row.id, 'completed')
      await life.expectStatus(next.id, 'active')
    },
  ],
  [
    'exclusive: the lane is being emptied',
    { knobs: { hello: STAYS } },
    async (life) => {
      const row = await life.book({ ...NOW(), model: undefined, exclusive: true })
      await life.until(({ phase }) => phase === 'stopping')
      await life.crash()
      await life.isOn({ model: null })
      await life.expectStatus(row.id, 'active')
    },
  ],
  [
    'exclusive: the lane is empty',
    {},
    async (life) => {
      const row = await life.book({ ...NOW(), model: undefined, exclusive: true })
      await life.isOn({ model: null })
      await life.crash()
      await life.isOn({ model: null })
      await life.expectStatus(row.id, 'active')
      expect(await life.chat('bob')).toBe(503)
    },
  ],
]

async function isReleased(life: Life): Promise<void> {
  const row = await life.book(NOW())
  await isActive(life, row)
  // It is written, and somebody is just being told.
  await eventually(() => life.hooks.got.some(({ body }) => body.includes('"event":"ended"')))
  life.kill()
  await life.restart()
  await life.isOn({ model: 'hello' })
  await life.expectStatus(row.id, 'ended_early')
  await life.untilTold('ended')
}

/** Two at a time: a machine with few processors has daemons and engines to run besides. */
const AT_A_TIME = 2
let free = AT_A_TIME
const queue: (() => void)[] = []

async function inTurn(work: () => Promise<void>): Promise<void> {
  if (free > 0) free -= 1
  else await new Promise<void>((resolve) => queue.push(resolve))
  try {
    await work()
  } finally {
    const next = queue.shift()
    if (next === undefined) free += 1
    else next()
  }
}

describe.concurrent('kill -9 at every step of a booking’s life', { timeout: 120_000 }, () => {
  it('released, because nobody came', () =>
    expect(live({ lane: { no_show_minutes: 1 } }, isReleased)).resolves.toBeUndefined())

  it.each(STEPS)('%s', (_name, options, story) => expect(inTurn(() => live(options, story))).resolves.toBeUndefined())
})

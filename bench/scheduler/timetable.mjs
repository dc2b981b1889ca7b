// A timetable as the daemon runs it, without engines: real bookings in a hal0.db on the disk, real notices, one real loop per lane and the door
// that the gateway asks; slots are simulated and the clock is the bench's.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BenchClock } from './bench-clock.mjs'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** All lanes change at the same moments, as people book by the hour. */
const START_MS = Date.UTC(2027, 2, 1, 10, 30)
const PERIOD_MS = 3 * HOUR_MS
const BOOKED_MS = 2 * HOUR_MS
/** The running one began so long ago. */
const RUNNING_MS = 30 * MINUTE_MS
/** One in so many is over. */
const OVER_ONE_IN = 5
/** As many in a timetable of one lane as in one of many: each person books on all lanes. */
const PEOPLE = 100
const MEMBER_ONE_IN = 4
/** So many of those to come are booked into. */
const FREE_WINDOWS = 50
const MODELS = ['org/small', 'org/large', 'org/code']
const LOAD_MS = 20 * SECOND_MS
const LIMITS = {
  min_minutes: 15,
  max_hours: 24,
  max_days_ahead: 3650,
  max_open_per_user: 10_000,
  max_hours_per_week: 10_000,
}
const STOP_MS = 30 * SECOND_MS

/** What of a build is measured. @param {string} dist */
async function load(dist) {
  const of = (/** @type {string} */ path) => import(pathToFileURL(join(dist, path)).href)
  return {
    ...(await of('config/settings/daemon-settings.js')),
    ...(await of('config/settings/scheduler-settings.js')),
    ...(await of('contract/lane-config.js')),
    ...(await of('files/home.js')),
    ...(await of('kernel/log.js')),
    ...(await of('lanes/bookings/create-bookings.js')),
    ...(await of('lanes/bookings/reservation-table.js')),
    ...(await of('lanes/create-lanes.js')),
    ...(await of('lanes/manual-store.js')),
    ...(await of('lanes/notices/create-notices.js')),
    ...(await of('lanes/simulate/simulated-slot.js')),
    ...(await of('store/open-store.js')),
  }
}

/** @param {number} n */
const laneName = (n) => `gpu${n}`
/** @param {number} n */
const personId = (n) => `u-${n % PEOPLE}`

function makePeople() {
  const all = Array.from({ length: PEOPLE }, (_, n) => ({
    ...{ id: personId(n), name: `person${n}`, role: 'member' },
    ...{ email: undefined, timeZone: 'Europe/Berlin', isDisabled: false },
  }))
  const ids = new Map(all.map((one) => [one.id, one]))
  const names = new Map(all.map((one) => [one.name, one]))
  return {
    byId: (/** @type {string} */ id) => ids.get(id),
    byName: (/** @type {string} */ name) => names.get(name),
    all: () => all,
    admins: () => [],
  }
}

/** The nth booking of a lane. @param {number} lane @param {number} n @param {number} over how many of them are over */
function reservationOf(lane, n, over) {
  const startMs = START_MS - RUNNING_MS + (n - over) * PERIOD_MS
  // Neighbours on a lane are other people, with other models.
  const nth = lane * 7 + n
  return {
    id: `r-${lane}-${n}`,
    lane: laneName(lane),
    ownerId: personId(nth),
    memberIds: n % MEMBER_ONE_IN === 0 ? [personId(nth + 1)] : [],
    title: `experiment ${n}`,
    startMs,
    endMs: startMs + BOOKED_MS,
    bookedEndMs: startMs + BOOKED_MS,
    status: n < over ? 'completed' : n === over ? 'active' : 'approved',
    use: { kind: 'model', model: MODELS[n % MODELS.length], profile: 'chat' },
    seriesId: undefined,
    timeZone: 'Europe/Berlin',
    createdAtMs: startMs - 7 * 24 * HOUR_MS,
    changedAtMs: startMs - 7 * 24 * HOUR_MS,
    revision: 0,
    note: undefined,
    firstUsedMs: n < over ? startMs : undefined,
  }
}

/**
 * On the disk, loaded, with every lane in the middle of a booking and its model up. A free window follows each booking.
 * @param {{ dist: string, lanes: number, perLane: number }} of
 */
export async function openTimetable({ dist, lanes: laneCount, perLane }) {
  const hal0 = await load(dist)
  const folder = mkdtempSync(join(tmpdir(), 'hal0-bench-lanes-'))
  const home = hal0.homeAt(folder)
  mkdirSync(home.varLib, { recursive: true })
  const clock = new BenchClock(START_MS)
  const log = hal0.silentLog
  const publish = () => {}
  // The home has no hal0.toml: the defaults.
  const settings = await hal0.readDaemonSettings(home)
  const people = makePeople()
  const names = Array.from({ length: laneCount }, (_, n) => laneName(n))
  const config = hal0.laneConfigSchema.parse({ limits: LIMITS, default: { model: MODELS[0], profile: 'chat' } })
  const files = new Map(names.map((name) => [name, { name, config, problem: undefined }]))
  const targetOf = (/** @type {string} */ model, profile = 'chat') => ({ kind: 'model', model, profile })
  const estimateMs = (/** @type {{ kind: string }} */ { kind }) => (kind === 'nothing' ? STOP_MS : LOAD_MS)

  const store = hal0.openStore(home, { log, clock })
  const { db } = store
  if (db === undefined) throw new Error(`${folder}: hal0.db did not open (${store.problem})`)
  const table = hal0.openReservationTable(db)
  const over = Math.floor(perLane / OVER_ONE_IN)
  db.transaction(() => {
    // As they are made in life: by time, all lanes at once.
    for (let n = 0; n < perLane; n++) {
      for (let lane = 0; lane < laneCount; lane++) table.insert(reservationOf(lane, n, over))
    }
  })()

  const notices = hal0.createNotices({
    ...{ db, clock, log, publish, people },
    settings: () => settings.notify,
    baseUrl: () => '',
  })
  const openedAtMs = performance.now()
  const book = hal0.createBookings({
    ...{ db, clock, log, publish, people, notices },
    lane: (/** @type {string} */ name) => {
      const file = files.get(name)
      return file && { config: file.config, defaultTarget: targetOf(MODELS[0] ?? '') }
    },
    lanes: () => names,
    isStarting: () => false,
    resolveTarget: async (/** @type {string} */ _lane, /** @type {string} */ model, profile = 'chat') => ({
      model,
      profile,
    }),
    estimateMs: (/** @type {string} */ _lane, /** @type {{ kind: string }} */ target) => estimateMs(target),
    exceedsVram: async () => false,
  })
  const openMs = performance.now() - openedAtMs
  const slots = new Map(
    names.map((name) => [
      name,
      new hal0.SimulatedSlot(clock, { loadMs: () => LOAD_MS, failureOf: () => undefined, stopMs: SECOND_MS }),
    ]),
  )
  const lanes = hal0.createLanes({
    ...{ clock, log, publish, people, calendar: book.calendar, bookings: book.bookings },
    files: { all: () => [...files.values()], find: (/** @type {string} */ name) => files.get(name) },
    settings: () => hal0.schedulerSettingsOf(settings, process.env),
    tell: notices.tell,
    manual: hal0.openManualStore(db, log),
    models: {
      targetOf,
      fingerprintOf: (/** @type {unknown} */ target) => JSON.stringify(target),
      refresh: async () => {},
    },
    times: {
      estimate: (/** @type {string} */ _lane, /** @type {{ kind: string }} */ target) => ({
        ms: estimateMs(target),
        source: 'size',
      }),
    },
    slotOf: (/** @type {string} */ name) => slots.get(name),
    // Only asked whether it is there.
    slotRow: (/** @type {string} */ name) => (slots.has(name) ? {} : undefined),
    describeHolders: async () => '',
  })
  lanes.look()
  await clock.run(2 * MINUTE_MS, SECOND_MS)
  for (const [name, slot] of slots) {
    if (slot.view().state !== 'up') throw new Error(`lane ${name} did not come up: it is ${slot.view().state}`)
  }

  const periodsGone = () => Math.floor((clock.nowMs() - (START_MS - RUNNING_MS)) / PERIOD_MS)

  return {
    clock,
    names,
    openMs,
    bookings: book.bookings,
    door: lanes.door,
    /** As a request comes with that person's key. @param {number} n */
    caller: (n) => {
      const { id, name, role } = people.byId(personId(n)) ?? { id: '', name: '', role: 'member' }
      return { kind: 'user', userId: id, name, role, keyId: 'k-1' }
    },
    /** Whose window it is now. @param {number} lane */
    holder: (lane) => lane * 7 + periodsGone() + over,
    /** The next moment at which a booking ends or starts on every lane, epoch ms. */
    nextChangeMs() {
      const intoMs = (clock.nowMs() - (START_MS - RUNNING_MS)) % PERIOD_MS
      return clock.nowMs() + (intoMs < BOOKED_MS ? BOOKED_MS : PERIOD_MS) - intoMs
    },
    /** For half an hour in the free window behind the nth booking to come. @param {number} lane @param {number} n @param {number} owner */
    request(lane, n, owner) {
      const startMs =
        START_MS - RUNNING_MS + (periodsGone() + 1 + (n % FREE_WINDOWS)) * PERIOD_MS + BOOKED_MS + 15 * MINUTE_MS
      return {
        lane: laneName(lane),
        start: new Date(startMs).toISOString(),
        minutes: 30,
        exclusive: false,
        model: MODELS[n % MODELS.length],
        title: 'bench',
        members: [`person${(owner + 1) % PEOPLE}`],
      }
    },
    async close() {
      lanes.close()
      await notices.close()
      book.close()
      store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** @typedef {Awaited<ReturnType<typeof openTimetable>>} Timetable */

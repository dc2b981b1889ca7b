// The job of the line `scheduler`: the same questions to a timetable of many lanes and to one of a single lane, in turn.
import { median } from '../lib/stats.mjs'
import { openTimetable } from './timetable.mjs'

/** @typedef {import('./timetable.mjs').Timetable} Timetable */

/** Of each measurement that is short: so many batches, whose median counts. */
const BATCHES = 15
const TICKS = 400
const REQUESTS = 2000
const CHECKS = 60
const BOOKINGS = 30
/** A single lane's change is one write to the disk, and needs several to be told. */
const CHANGES_OF_ONE = 10
/** Until V8 has optimised what is timed. */
const WARM_BATCHES = 20
const MINUTE_MS = 60_000

const NS_PER_MS = 1e6
const US_PER_MS = 1e3

/** @param {() => void} work @returns ms */
function timed(work) {
  const startMs = performance.now()
  work()
  return performance.now() - startMs
}

/** What one of `count` takes, ms: the median of batches, with a turn of the loop between them. @param {number} batches @param {number} count @param {() => void} work does it `count` times */
async function each(batches, count, work) {
  /** @type {number[]} */
  const took = []
  for (let batch = 0; batch < batches; batch++) {
    took.push(timed(work) / count)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return median(took)
}

/** The ticks of lanes one after the other, nothing else between them. @param {Timetable} world @param {number} batches */
const tickMs = (world, batches) =>
  each(batches, TICKS, () => {
    for (let n = 0; n < TICKS; n++) world.clock.fireFirst()
  })

/** All lanes are due in the same turn; as many ticks in all for one lane as for many. @param {Timetable} world @param {number} batches */
async function tickAllMs({ clock, names }, batches) {
  const times = Math.ceil(TICKS / names.length)
  return await each(batches, times * names.length, () => {
    for (let n = 0; n < times; n++) clock.fireAll()
  })
}

/** A holder's request at the door, as the gateway asks: on arrival, when it has its lease, at its end. @param {Timetable} world @param {number} batches */
async function requestMs({ door, names, caller, holder }, batches) {
  const callers = names.map((_, lane) => caller(holder(lane)))
  const onEnd = () => {}
  return await each(batches, REQUESTS, () => {
    for (let n = 0; n < REQUESTS; n++) {
      const lane = n % names.length
      const stay = door.enter(names[lane] ?? '', callers[lane], onEnd)
      if (stay === undefined || stay instanceof Error) throw stay ?? new Error('the door knows no such lane')
      const refused = stay.leased()
      if (refused !== undefined) throw refused
      stay.leave()
    }
  })
}

/** By a member, with all limits to look up. @param {Timetable} world @param {number} from */
async function checkMs({ bookings, names, request, caller }, from) {
  /** @type {number[]} */
  const took = []
  for (let n = from; n < from + CHECKS; n++) {
    const wanted = request(laneOf(n, names), n, n * 13)
    const startMs = performance.now()
    const answer = await bookings.check(wanted, caller(n * 13))
    took.push(performance.now() - startMs)
    if (!answer.ok) throw new Error(`a free window was refused: ${JSON.stringify(answer)}`)
  }
  return median(took)
}

/** Lanes in an order that jumps. @param {number} n @param {readonly string[]} names */
const laneOf = (n, names) => (n * 37) % names.length

/** One booking, on the disk when it is there; taken back again, so that the next finds the same. @param {Timetable} world @param {number} n */
async function bookOnce({ bookings, names, request, caller }, n) {
  const wanted = request(laneOf(n, names), n, n * 13)
  const by = caller(n * 13)
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  const made = await bookings.create(wanted, by)
  const ms = performance.now() - startMs
  const { user, system } = process.cpuUsage(cpu)
  await bookings.cancel(made.reservations[0].id, { series: false }, by)
  return { ms, cpuMs: (user + system) / US_PER_MS }
}

/** Both in turn, booking by booking: the disk has its moods. @param {readonly Timetable[]} worlds @param {number} from */
async function bookMs(worlds, from) {
  const rows = worlds.map(() => ({ ms: /** @type {number[]} */ ([]), cpuMs: /** @type {number[]} */ ([]) }))
  for (let n = from; n < from + BOOKINGS; n++) {
    for (const [i, world] of worlds.entries()) {
      const { ms, cpuMs } = await bookOnce(world, n)
      rows[i]?.ms.push(ms)
      rows[i]?.cpuMs.push(cpuMs)
    }
  }
  return rows.map(({ ms, cpuMs }) => ({ book_ms: median(ms), book_cpu_ms: median(cpuMs) }))
}

/** A booking ends on every lane, later the next one starts: per lane and change, with what is written of it. @param {Timetable} world */
async function changeMs(world) {
  const { clock, names, nextChangeMs } = world
  const changes = 2 * (names.length === 1 ? CHANGES_OF_ONE : 1)
  let tookMs = 0
  for (let n = 0; n < changes; n++) {
    // What is due a little earlier, reminders and loads, is not what is timed.
    clock.jumpTo(nextChangeMs() - MINUTE_MS)
    await clock.run(MINUTE_MS - 1, MINUTE_MS)
    tookMs += timed(() => clock.jumpTo(clock.nowMs() + 1))
    await clock.run(2 * MINUTE_MS, 1000)
  }
  return tookMs / (changes * names.length)
}

/** @param {Timetable} world @param {number} batches */
async function quick(world, batches) {
  return {
    tick_us: (await tickMs(world, batches)) * US_PER_MS,
    tick_all_us: (await tickAllMs(world, batches)) * US_PER_MS,
    request_ns: (await requestMs(world, batches)) * NS_PER_MS,
  }
}

/** Means of there and back. @param {Record<string, number>} there @param {Record<string, number>} back */
const meanOf = (there, back) =>
  Object.fromEntries(Object.entries(there).map(([key, value]) => [key, (value + (back[key] ?? value)) / 2]))

/**
 * `many` lanes beside one, each with as many reservations per lane.
 * @param {{ dist: string, rounds: number, many: number, perLane: number }} job
 */
export async function scheduler({ dist, rounds, many, perLane }) {
  const one = await openTimetable({ dist, lanes: 1, perLane })
  const all = await openTimetable({ dist, lanes: many, perLane })
  try {
    /** @type {{ one: Record<string, number>[], all: Record<string, number>[] }} */
    const result = { one: [], all: [] }
    for (const world of [one, all]) {
      await quick(world, WARM_BATCHES)
      await checkMs(world, 0)
    }
    for (let round = 0; round < rounds; round++) {
      const from = round * CHECKS
      const [first, second] = round % 2 === 0 ? [one, all] : [all, one]
      const there = [await quick(first, BATCHES), await quick(second, BATCHES)]
      const back = [await quick(second, BATCHES), await quick(first, BATCHES)]
      const quickOf = [meanOf(there[0] ?? {}, back[1] ?? {}), meanOf(there[1] ?? {}, back[0] ?? {})]
      const checks = [await checkMs(first, from), await checkMs(second, from)]
      const books = await bookMs([first, second], from)
      const changes = [await changeMs(first), await changeMs(second)]
      for (const [i, world] of [first, second].entries()) {
        const row = {
          ...quickOf[i],
          check_ms: checks[i] ?? Number.NaN,
          ...books[i],
          change_ms: changes[i] ?? Number.NaN,
        }
        result[world === one ? 'one' : 'all'].push(row)
      }
    }
    return { ...result, openMs: all.openMs }
  } finally {
    await one.close()
    await all.close()
  }
}

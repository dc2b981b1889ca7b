import type { ReservationRow } from '../../src/contract/reservation.ts'
import type { LaneName, LaneWorld, ModelName, Person, Wish } from './lane-day.ts'
import { MIN_PRELOAD_S, SCHEDULER } from './lane-day.ts'
import type { Requests } from './lane-day-requests.ts'

export const TICK_MS = SCHEDULER.tick_seconds * 1_000
export const DRAIN_MS = SCHEDULER.drain_seconds * 1_000
const BUFFER_MS = SCHEDULER.buffer_seconds * 1_000
/** What a lead adds to a load. */
export const SPARE_MS = Math.max(BUFFER_MS, DRAIN_MS)
const STOP_MS = SCHEDULER.stop_timeout_seconds * 1_000
/** How long before its start a lane gets ready for a booking, at the least. */
export const LEAD_LOWEST_MS = { exclusive: STOP_MS + SPARE_MS, model: MIN_PRELOAD_S * 1_000 }

export interface Booked extends Wish {
  readonly row: ReservationRow
}

export interface Day {
  readonly zeroMs: number
  /** Of one stream on this machine, about. */
  readonly tokensPerS: number
  readonly cpu0: Readonly<Record<'first' | 'same' | 'other' | 'whole', Booked>>
  readonly cpu1: Readonly<Record<'morning' | 'noon' | 'evening', Booked>>
}

/** How long the models take on a lane, as that lane says once it has loaded each by hand, ms. */
async function learn(world: LaneWorld, lane: LaneName): Promise<{ readonly hello: number; readonly f16: number }> {
  const load = async (model: ModelName): Promise<number> => {
    await world.choose(lane, model)
    const { estimates } = await world.explain(lane)
    const estimate = estimates.find(({ target }) => target.kind === 'model' && target.model === model)
    if (estimate?.source !== 'history') throw new Error(`lane ${lane} does not know how long ${model} takes`)
    return estimate.seconds * 1_000
  }
  const known = { hello: await load('hello'), f16: await load('hello-f16') }
  await world.choose(lane, undefined)
  return known
}

async function measureSpeed({ admin }: LaneWorld, { stream }: Requests): Promise<number> {
  const tokens = 200
  const { begun, ended } = stream(admin, 'cpu0', tokens)
  await begun
  const begunMs = Date.now()
  const { endedMs } = await ended
  return Math.ceil((tokens * 1_000) / Math.max(1, endedMs - begunMs))
}

/** Lets the lanes learn how long loads take here, and books the day by it: where it matters, gaps are long or short by seconds. */
export async function planDay(world: LaneWorld, requests: Requests): Promise<Day> {
  const { ada, ben } = world
  const lead = (estimateMs: number) => Math.max(estimateMs + SPARE_MS, LEAD_LOWEST_MS.model)
  // Both at once, as it will be.
  const [cpu0, cpu1] = await Promise.all([learn(world, 'cpu0'), learn(world, 'cpu1')])
  const slowest = Math.max(cpu0.hello, cpu0.f16)
  const tokensPerS = await measureSpeed(world, requests)

  const zeroMs = Math.ceil(Date.now() + lead(Math.max(slowest, cpu1.hello)) + 1_500)
  const book = async (by: Person, lane: LaneName, startMs: number, lengthMs: number, model?: ModelName) => {
    const wish: Wish = {
      lane,
      startMs: Math.ceil(startMs),
      endMs: Math.ceil(startMs + lengthMs),
      ...(model && { model }),
    }
    return { ...wish, row: await world.book(by, wish) }
  }
  const first = await book(ada, 'cpu0', zeroMs, 4_000, 'hello-f16')
  const same = await book(ben, 'cpu0', first.endMs, DRAIN_MS + 2_500, 'hello-f16')
  const other = await book(ada, 'cpu0', same.endMs, DRAIN_MS + lead(slowest) + 3_000, 'hello')
  // A stream that ought not to be drained at the end of the booking before would be by then.
  const whole = await book(ben, 'cpu0', other.endMs + DRAIN_MS + 1_000 + LEAD_LOWEST_MS.exclusive, 3_000)

  const morning = await book(ben, 'cpu1', zeroMs + 1_000, 4_000, 'hello')
  // Longer than the lead, and too short to stop, load and have two buffers: in the middle, as loads take another time each time.
  const noonGapMs = (lead(cpu1.f16) + STOP_MS + cpu1.f16 + 2 * BUFFER_MS) / 2
  const noon = await book(ada, 'cpu1', morning.endMs + noonGapMs, 4_000, 'hello-f16')
  const evening = await book(
    ben,
    'cpu1',
    noon.endMs + STOP_MS + lead(cpu1.hello) + 2 * BUFFER_MS + 2_000,
    3_000,
    'hello',
  )
  return { zeroMs, tokensPerS, cpu0: { first, same, other, whole }, cpu1: { morning, noon, evening } }
}

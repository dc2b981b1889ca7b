import { expect, it } from 'vitest'
import type { Hal0Event } from '../../src/contract/events.ts'
import type { ReservationRow } from '../../src/contract/reservation.ts'
import type { UsageReport } from '../../src/contract/usage.ts'
import { enginesOf, isRunning } from '../gateway/adoption-world.ts'
import { LANES, type LaneName, type LaneWorld, type Person, startLaneWorld } from '../support/lane-day.ts'
import {
  type Booked,
  type Day,
  DRAIN_MS,
  LEAD_LOWEST_MS,
  planDay,
  SPARE_MS,
  TICK_MS,
} from '../support/lane-day-plan.ts'
import { startPulse } from '../support/lane-day-pulse.ts'
import { createRequests, type Requests, type Stream, type Streamed } from '../support/lane-day-requests.ts'
import { doneSteps, type Load, loadsOf, plannedSteps, type Step, timelineText } from '../support/lane-day-timeline.ts'
import { becomes, until } from '../support/lane-day-waits.ts'

/** A drain that is over is seen, told and read within this. */
const TELLING_MS = 1_000
/** Within so long after its start a booking counts as just begun. */
const JUST_BEGUN_MS = 200
const ENDLESS = 1_000_000
/** So long before the end of a booking a stream begins that runs across it; and one that comes to its own end soon after. */
const STREAM_AHEAD_MS = 1_500
const SHORT_AHEAD_MS = 250
/** What is written on the side. */
const SOON = { timeout: 10_000, interval: 100 }

interface Scene {
  readonly world: LaneWorld
  readonly day: Day
  readonly requests: Requests
  /** By booking: how many requests its holders have had served. */
  readonly served: Map<string, number>
  /** Bookings whose model was not there at their start. */
  readonly late: Booked[]
  /** As of the pulse. */
  lagMs(): number
}

/** The booking begins: its holder asks at once, by its lane and by its model, and those who do not hold it are turned away. */
async function begin(
  { world, requests, served, lagMs }: Scene,
  booked: Booked,
  holder: Person,
  walkIns: readonly Person[],
) {
  const { lane, model, row } = booked
  await until(booked.startMs)
  const [first, state, byName, ...turnedAway] = await Promise.all([
    requests.ask(holder, lane),
    world.lane(lane),
    requests.ask(holder, model ?? lane),
    ...walkIns.map((person) => requests.ask(person, lane)),
  ])
  expect(turnedAway.map(({ status, said }) => [status, said])).toEqual(walkIns.map(() => [403, 'gpu_reserved']))
  expect(turnedAway.map(({ retryAfterS }) => retryAfterS)).toEqual(walkIns.map(() => undefined))
  expect(state).toMatchObject({ active: { id: row.id }, reason: model === undefined ? 'exclusive' : 'reserved' })
  for (const { status } of [first, byName]) if (status === 200) count(served, row.id)
  expect(first.sentMs - booked.startMs).toBeLessThanOrEqual(JUST_BEGUN_MS + lagMs())
  return { first, byName, state }
}

function count(served: Map<string, number>, id: string): void {
  served.set(id, (served.get(id) ?? 0) + 1)
}

/** A booking that had time: the model is there at its start, unless this machine took longer for the load than the lane could know. */
async function beginReady(scene: Scene, booked: Booked, holder: Person, walkIns: readonly Person[]): Promise<number> {
  const { first, byName, state } = await begin(scene, booked, holder, walkIns)
  const { lane, startMs, model } = booked
  const load = loadsOf(lane, await scene.world.events()).at(-1)
  if (load === undefined || load.model !== model || load.readyMs > startMs) scene.late.push(booked)
  else {
    expect([first.status, first.said]).toEqual([200, '4'])
    expect([byName.status, byName.said]).toEqual([200, '4'])
    expect(state).toMatchObject({ phase: 'ready', is_fallback: false, current: { model } })
  }
  return await pidWhenReady(scene, booked, holder)
}

/** Until the holder is served, every answer says that it will be soon; then the process that serves. */
async function pidWhenReady(
  { requests, served, world }: Scene,
  { lane, row }: Booked,
  holder: Person,
): Promise<number> {
  await becomes(`${lane} serves ${holder.name}`, async () => {
    const { status, said, retryAfterS } = await requests.ask(holder, lane)
    if (status === 200) {
      expect(said).toBe('4')
      return true
    }
    expect(status).toBe(503)
    expect(['model_switching', 'slot.loading']).toContain(said)
    expect(retryAfterS).toBeGreaterThanOrEqual(1)
    return false
  })
  count(served, row.id)
  return pidOf(world, lane)
}

async function pidOf(world: LaneWorld, lane: LaneName): Promise<number> {
  const { pid } = await world.slot(lane)
  if (pid === null) throw new Error(`lane ${lane} has no process`)
  return pid
}

/** Its first piece is here, and it counts for that booking. */
async function letIn({ served }: Scene, stream: Stream, { row }: Booked): Promise<void> {
  await stream.begun
  if (stream.pieces() > 0) count(served, row.id)
}

/** The engine stops under it; its lane is another's. Where both are so, either may be told. */
const STOPS = ['slot.unloading']
const RESERVED = ['gpu_reserved']

/** A stream that lost its place at `lostMs`: it ended by itself, or was told so in its last event as soon as its time was over. */
function expectDrained(
  { lagMs }: Scene,
  { endedMs, end, wasServed }: Streamed,
  lostMs: number,
  codes: readonly string[],
): void {
  // Where all stood still, its request came only after the change, and was told what everybody is told then.
  if (!wasServed) return expect(['gpu_reserved', 'model_switching', 'slot.not_ready']).toContain(end)
  if (end !== 'finished') {
    expect(codes).toContain(end)
    expect(endedMs).toBeGreaterThanOrEqual(lostMs + DRAIN_MS)
  }
  expect(endedMs).toBeLessThanOrEqual(lostMs + DRAIN_MS + TELLING_MS + lagMs())
}

/** Two bookings of one model without a gap, one of another model, hours of nobody, and the whole card for somebody. */
async function dayOfCpu0(scene: Scene): Promise<void> {
  const { day, requests, world } = scene
  const { ada, ben, admin } = world
  const { first, same, other, whole } = day.cpu0

  const pid = await beginReady(scene, first, ada, [ben, admin])
  const byModel = await requests.ask(ben, 'hello-f16')
  expect([byModel.status, byModel.said]).toEqual([403, 'gpu_reserved'])
  await until(same.startMs - STREAM_AHEAD_MS)
  const cut = requests.stream(ada, 'cpu0', ENDLESS)
  await letIn(scene, cut, first)

  // The same model goes on in the same process; whoever has lost the lane has the time of a drain.
  const { first: atOnce } = await begin(scene, same, ben, [ada, admin])
  expect([atOnce.status, atOnce.said]).toEqual([200, '4'])
  expect(await pidOf(world, 'cpu0')).toBe(pid)
  const ended = await cut.ended
  expectDrained(scene, ended, same.startMs, RESERVED)
  await until(other.startMs - STREAM_AHEAD_MS)
  const revoked = requests.stream(ben, 'hello-f16', ENDLESS)
  await letIn(scene, revoked, same)

  // Another model: its holder is told to come back, and is served when it is there.
  const { first: early } = await begin(scene, other, ada, [ben, admin])
  expect([early.status, early.said]).toEqual([503, 'model_switching'])
  expect(early.retryAfterS).toBeGreaterThanOrEqual(1)
  const otherPid = await pidWhenReady(scene, other, ada)
  expectDrained(scene, await revoked.ended, other.startMs, [...STOPS, ...RESERVED])
  expect(otherPid).not.toBe(pid)
  expect(await isRunning(pid)).toBe(false)
  await until(other.endMs - STREAM_AHEAD_MS)
  const kept = requests.stream(ada, 'cpu0', ENDLESS)
  await letIn(scene, kept, other)

  // Nobody's: the default is the same model, so nothing ends, and everybody is served.
  await until(other.endMs)
  for (const person of [ben, admin]) {
    const answer = await requests.ask(person, 'cpu0')
    // Where all stood still until the lane got ready for the next booking, there was no such time.
    if (Date.now() >= whole.startMs - LEAD_LOWEST_MS.exclusive) break
    expect([person.name, answer.status, answer.said]).toEqual([person.name, 200, '4'])
  }
  if (Date.now() < whole.startMs - LEAD_LOWEST_MS.exclusive) expect(await pidOf(world, 'cpu0')).toBe(otherPid)

  // Then the lane gets ready for the whole card, and waits for those who come to an end in time.
  await until(whole.startMs - LEAD_LOWEST_MS.exclusive)
  const pieces = kept.pieces()
  await becomes('the stream goes on, or came to its own end', () => kept.pieces() > pieces || kept.end() === 'finished')
  const seen = await world.lane('cpu0')
  // As long as it may run on, and has not come to its own end.
  if (Date.now() < whole.startMs - LEAD_LOWEST_MS.exclusive + DRAIN_MS && kept.end() === undefined) {
    expect(seen).toMatchObject({ phase: 'draining', target: { kind: 'nothing' }, in_flight: 1 })
  }
  kept.leave()
  expect(['left', 'finished']).toContain((await kept.ended).end)

  // The whole card: empty when it begins, and no model for its holder either.
  const exclusive = await begin(scene, whole, ben, [ada, admin])
  expect([exclusive.first.status, exclusive.first.said]).toEqual([503, 'gpu_exclusive'])
  const leftS = (whole.endMs - exclusive.first.sentMs) / 1_000
  expect(exclusive.first.retryAfterS).toBeGreaterThanOrEqual(1)
  expect(exclusive.first.retryAfterS).toBeLessThanOrEqual(Math.ceil(leftS))
  expect(exclusive.state).toMatchObject({ phase: 'off', current: { kind: 'nothing' } })
  expect((await enginesOf(world))['cpu0']).toBeUndefined()
  expect(await isRunning(otherPid)).toBe(false)

  await until(whole.endMs)
  await becomes('cpu0 runs its default', async () => (await world.lane('cpu0')).phase === 'ready')
  expect((await requests.ask(ada, 'cpu0')).said).toBe('4')
  expect([pid, otherPid]).not.toContain(await pidOf(world, 'cpu0'))
}

/** Three bookings with gaps: one too short for anything else, one long enough to run nothing. */
async function dayOfCpu1(scene: Scene): Promise<void> {
  const { day, requests, world } = scene
  const { ada, ben, admin } = world
  const { morning, noon, evening } = day.cpu1

  const pid = await beginReady(scene, morning, ben, [ada, admin])
  await until(morning.endMs - SHORT_AHEAD_MS)
  const short = requests.stream(ben, 'cpu1', Math.ceil(day.tokensPerS / 2))
  await letIn(scene, short, morning)
  expectDrained(scene, await short.ended, morning.endMs, STOPS)

  const noonPid = await beginReady(scene, noon, ada, [ben, admin])
  expect(noonPid).not.toBe(pid)
  await until(noon.endMs - STREAM_AHEAD_MS)
  const cut = requests.stream(ada, 'cpu1', ENDLESS)
  await letIn(scene, cut, noon)
  await until(noon.endMs)
  expectDrained(scene, await cut.ended, noon.endMs, STOPS)
  await becomes('cpu1 is off', async () => (await world.lane('cpu1')).phase === 'off')
  for (const person of [ada, admin]) {
    const answer = await requests.ask(person, 'cpu1')
    expect(answer).toMatchObject({ status: 503, said: 'slot.not_ready', retryAfterS: undefined })
  }
  expect((await enginesOf(world))['cpu1']).toBeUndefined()

  const eveningPid = await beginReady(scene, evening, ben, [ada, admin])
  expect([pid, noonPid]).not.toContain(eveningPid)
  await until(evening.endMs)
  await becomes('cpu1 is off', async () => (await world.lane('cpu1')).phase === 'off')
}

/** The lane was to run what the plan said, for the same reasons, in the same order; and at the same times, as far as they can be told before. */
function expectAsPlanned(
  lane: LaneName,
  plan: readonly Step[],
  done: readonly Step[],
  loads: readonly Load[],
  lagMs: number,
) {
  expect([lane, done.map(({ what }) => what)]).toEqual([lane, plan.map(({ what }) => what)])
  // When a lane gets ready goes by how long loads took, which changes with each; none of them counts for more than it took.
  const longestMs = Math.max(...loads.map(tookMs))
  for (const [n, { atMs, what }] of done.entries()) {
    if (n === 0) continue
    const offMs = Math.abs(atMs - (plan[n]?.atMs ?? 0))
    expect(offMs, `${lane}: ${what}`).toBeLessThanOrEqual(
      TICK_MS + lagMs + (what.includes('[preload]') ? longestMs : 0),
    )
  }
}

/** One that was late had no time: what had to be done took longer than its lead, which goes by how long it had taken before. */
function expectHadNoTime({ lane, startMs, model, row }: Booked, events: readonly Hal0Event[], lagMs: number): void {
  const mine = loadsOf(lane, events).filter((load) => load.model === model)
  const late = mine.find(({ readyMs }) => readyMs > startMs)
  if (late === undefined) throw new Error(`${row.id} was not served at its start, and its model was there`)
  const before = mine.filter(({ readyMs }) => readyMs < late.beganMs).map(tookMs)
  const meanMs = before.reduce((sum, ms) => sum + ms, 0) / before.length
  const leadMs = Math.max(LEAD_LOWEST_MS.model, meanMs + SPARE_MS)
  const began = doneSteps(lane, events, 0).find(({ what }) => what.endsWith(row.id))?.atMs ?? 0
  console.warn(
    `${lane}: ${row.id} had no time, this machine took ${late.readyMs - began} ms where it had taken ${Math.round(meanMs)}`,
  )
  expect(late.readyMs - began).toBeGreaterThan(leadMs - TICK_MS - lagMs)
  expect(tookMs(late) + DRAIN_MS).toBeGreaterThan(leadMs)
}

/** How many requests the usage report has of each booking, or of each user. */
async function countsBy(world: LaneWorld, by: 'reservation' | 'user'): Promise<ReadonlyMap<string, number>> {
  const { groups } = await world.get<UsageReport>(`/api/usage?by=${by}`)
  return new Map(groups.flatMap(({ key, requests }) => (key === null ? [] : [[key, requests] as const])))
}

const tookMs = ({ beganMs, readyMs }: Load): number => readyMs - beganMs

it('a day of two lanes: bookings, gaps, streams across their edges, people who walk in', async () => {
  const world = await startLaneWorld()
  const { lagMs } = startPulse(world.url)
  const requests = createRequests(world)
  const day = await planDay(world, requests)
  const scene: Scene = { world, day, requests, served: new Map(), late: [], lagMs }
  const plans = await Promise.all(LANES.map(async (lane) => ({ lane, plan: plannedSteps(await world.explain(lane)) })))
  const failure = await Promise.all([dayOfCpu0(scene), dayOfCpu1(scene)]).catch((error: unknown) => error)
  const events = await world.events()
  console.log(`${timelineText(plans, events, day.zeroMs)}\nstood still for ${Math.round(lagMs())} ms at most`)
  if (failure instanceof Error) throw failure
  for (const { lane, plan } of plans) {
    expectAsPlanned(lane, plan, doneSteps(lane, events, plan[0]?.atMs ?? 0), loadsOf(lane, events), lagMs())
  }
  for (const booked of scene.late) expectHadNoTime(booked, events, lagMs())

  // All that was let in is told of by its booking, all that was asked by its person.
  await expect.poll(() => countsBy(world, 'reservation'), SOON).toEqual(scene.served)
  await expect.poll(() => countsBy(world, 'user'), SOON).toEqual(requests.countOf)
  const { reservations } = await world.get<{ reservations: ReservationRow[] }>('/api/reservations')
  expect(reservations.map(({ id, status, first_used_at: used }) => [id, status, used !== null])).toEqual(
    reservations.map(({ id, target }) => [id, 'completed', target !== null]),
  )
})

import { describe, expect, it } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import type { NewEvent } from '../contract/events.ts'
import { laneConfigSchema } from '../contract/lane-config.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { silentLog } from '../kernel/log.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../kernel/units.ts'
import type { Calendar } from './bookings/calendar.ts'
import { LaneActor, type LaneFacts } from './lane-actor.ts'
import { explainLane, timelineOf } from './lane-answers.ts'
import { buildLaneRow, retryAtOf } from './lane-rows.ts'
import type { Notice } from './notices/notices.ts'
import { type Booking, isInForce } from './rules/booking.ts'
import { type LaneTarget, NOTHING } from './rules/lane-target.ts'
import { SimulatedSlot } from './simulate/simulated-slot.ts'

const START_MS = Date.UTC(2026, 11, 1, 8)
const SMALL: LaneTarget = { kind: 'model', model: 'small', profile: 'chat' }
const BIG = { kind: 'model', model: 'big', profile: 'chat' } as const

/** One lane on a manual clock, with bookings that the test puts there. */
function openLane(options: { readonly facts?: Partial<LaneFacts>; readonly bookings?: readonly Booking[] } = {}) {
  const clock = new ManualClock(START_MS)
  let bookings: readonly Booking[] = options.bookings ?? []
  const failing = new Map<string, string>()
  const notices: Notice[] = []
  const events: NewEvent[] = []
  const listeners = new Set<(lane: string) => void>()
  let fingerprint = 'first'
  const facts: LaneFacts = {
    tickMs: 5 * SECOND_MS,
    drainMs: 30 * SECOND_MS,
    loadTimeoutMs: 600 * SECOND_MS,
    minPreloadMs: 180 * SECOND_MS,
    bufferMs: 60 * SECOND_MS,
    stopTimeoutMs: 30 * SECOND_MS,
    default: SMALL,
    manual: undefined,
    noShowMs: 0,
    ...options.facts,
  }
  const slot = new SimulatedSlot(clock, {
    loadMs: () => 20 * SECOND_MS,
    failureOf: ({ model }) => {
      const message = failing.get(model)
      return message === undefined ? undefined : { message, cause: null }
    },
    stopMs: SECOND_MS,
  })
  const calendar: Calendar = {
    problem: undefined,
    unread: undefined,
    upcoming: (_, nowMs) => bookings.filter(({ endMs }) => endMs > nowMs),
    lastStartMs: (_, nowMs) =>
      Math.max(
        ...bookings.filter((one) => isInForce(one) && one.startMs <= nowMs).map((one) => one.startMs),
        -Infinity,
      ),
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    settle: () => undefined,
    used: () => {},
  }
  const actor = new LaneActor({
    name: 'gpu0',
    clock,
    log: silentLog,
    publish: (event) => events.push(event),
    slot,
    calendar,
    facts: () => facts,
    estimateMs: (target) => (target.kind === 'nothing' ? facts.stopTimeoutMs : 20 * SECOND_MS),
    fingerprintOf: () => fingerprint,
    refreshModels: () => {},
    nameOfUser: (id) => id,
    tell: (notice) => notices.push(notice),
    describeHolders: async () => '',
  })
  actor.wake()
  return {
    actor,
    clock,
    slot,
    failing,
    notices,
    events,
    async book(next: readonly Booking[]) {
      bookings = next
      for (const listener of listeners) listener('gpu0')
      await settle()
    },
    changeModel: (to: string) => {
      fingerprint = to
      actor.wake()
    },
    running: () => {
      const { running } = slot.view()
      return running?.kind === 'model' ? running.model : undefined
    },
    toldOf: (event: Notice['event']) => notices.filter((notice) => notice.event === event).length,
    loadsOf: (model: string) =>
      slot.loads.filter(({ target }) => target.model === model).map(({ atMs }) => (atMs - START_MS) / SECOND_MS),
  }
}

function booking(more: Partial<Booking> = {}): Booking {
  return {
    id: 'r1',
    lane: 'gpu0',
    ownerId: 'ada',
    memberIds: [],
    startMs: START_MS + 10 * MINUTE_MS,
    endMs: START_MS + 70 * MINUTE_MS,
    status: 'approved',
    use: BIG,
    firstUsedMs: undefined,
    ...more,
  }
}

describe('the loop of a lane', () => {
  it('goes to its default, preloads for a booking, and comes back', async () => {
    const lane = openLane({ bookings: [booking()] })
    await lane.clock.advance(30 * SECOND_MS)
    expect(lane.running()).toBe('small')
    await lane.clock.advance(7 * MINUTE_MS)
    expect(lane.running()).toBe('big')
    expect(lane.slot.view().state).toBe('up')
    await lane.clock.advance(60 * MINUTE_MS)
    expect(lane.running()).toBe('big')
    await lane.clock.advance(4 * MINUTE_MS)
    expect(lane.running()).toBe('small')
    expect(lane.slot.loads.map(({ target }) => target.model)).toEqual(['small', 'big', 'small'])
    lane.actor.close()
    expect(lane.clock.pendingTimers).toBe(0)
  })

  it('is empty before an exclusive booking starts', async () => {
    const lane = openLane({ bookings: [booking({ use: { kind: 'exclusive' } })] })
    await lane.clock.advance(10 * MINUTE_MS)
    expect(lane.slot.view().state).toBe('down')
    expect(lane.actor.ask('ada')).toMatchObject({ kind: 'refuse', error: { code: 'gpu_exclusive', retryAfterS: 3600 } })
    expect(lane.actor.ask('bob')).toMatchObject({ kind: 'refuse', error: { code: 'gpu_reserved' } })
  })

  it('serves the default while the reserved model fails, retries from 30 s doubling to 10 min, tells once, and comes back', async () => {
    const lane = openLane({ bookings: [booking({ endMs: START_MS + 5 * HOUR_MS })] })
    lane.failing.set('big', 'out of memory')
    await lane.clock.advance(15 * MINUTE_MS)
    expect(lane.actor.isFallback).toBe(true)
    expect(lane.running()).toBe('small')
    expect(lane.actor.ask('ada')).toMatchObject({ kind: 'serve', reservationId: 'r1' })
    expect(lane.actor.ask('bob')).toMatchObject({ kind: 'refuse', error: { code: 'gpu_reserved' } })
    await lane.clock.advance(2 * HOUR_MS)
    // Each retry costs its own load (20 s), the stops, and the load of the default (20 s), from whose end the delay counts.
    const tries = lane.loadsOf('big')
    const gaps = tries.slice(1).map((at, nth) => at - (tries[nth] ?? 0))
    const delays = gaps.map((gap) => Math.round(gap) - 41)
    expect(delays.slice(0, 7)).toEqual([30, 60, 120, 240, 480, 600, 600])
    expect(lane.toldOf('fallback')).toBe(1)
    lane.failing.clear()
    await lane.clock.advance(12 * MINUTE_MS)
    expect(lane.running()).toBe('big')
    expect(lane.actor.isFallback).toBe(false)
    expect(lane.toldOf('recovered')).toBe(1)
    expect(lane.toldOf('fallback')).toBe(1)
  })

  it('says what stands in, why and until when, wherever it is asked', async () => {
    const lane = openLane({ bookings: [booking({ endMs: START_MS + 5 * HOUR_MS })] })
    lane.failing.set('big', 'out of memory')
    await until(lane, () => lane.actor.isFallback && lane.actor.seen().phase === 'ready')
    const explanation = explainLane(lane.actor, undefined, () => ({ ms: 0, source: 'unknown' }))
    const retryAt = explanation.instead?.retry_at ?? ''
    expect(explanation).toMatchObject({
      instead: { target: { model: 'small' }, is_fallback: true, code: 'slot.spawn_failed' },
      review_at: retryAt,
      review: 'The load of big (profile chat) is tried again.',
    })
    const nowMs = lane.clock.nowMs()
    expect(Date.parse(retryAt)).toBeGreaterThan(nowMs)
    expect(explainLane(lane.actor, nowMs + 1, () => ({ ms: 0, source: 'unknown' })).instead).toBeNull()
    const { past, failures } = timelineOf(lane.actor, { fromMs: nowMs - HOUR_MS, toMs: nowMs + 1 }, [])
    expect(past.at(-1)).toMatchObject({ target: { model: 'small' }, phase: 'ready', in_place_of: { model: 'big' } })
    expect(failures).toMatchObject([{ target: { model: 'big' }, code: 'slot.spawn_failed' }])
    const [failed] = lane.actor.failures.all()
    expect(failed && retryAtOf(failed.failure, lane.actor.seen().served)).toBe(retryAt)
  })

  it('without a default that could stand in it says why, and when to come back', async () => {
    const lane = openLane({ facts: { default: NOTHING }, bookings: [booking()] })
    lane.failing.set('big', 'the GPU is on fire')
    await lane.clock.advance(10 * MINUTE_MS + 5 * SECOND_MS)
    await until(lane, () => lane.actor.seen().phase === 'waiting')
    const answer = lane.actor.ask('ada')
    expect(answer).toMatchObject({ kind: 'refuse', error: { code: 'slot.loading' } })
    if (answer.kind === 'refuse') expect(answer.error.message).toContain('ended by itself (slot.spawn_failed)')
    expect(lane.toldOf('fallback')).toBe(1)
  })

  it('no retry cuts a request in flight before ten minutes are over', async () => {
    const lane = openLane({ bookings: [booking({ endMs: START_MS + 5 * HOUR_MS })] })
    lane.failing.set('big', 'no')
    await until(lane, () => lane.actor.isFallback && lane.slot.view().state === 'up')
    let cut = 0
    lane.slot.lease(() => cut++)
    const begun = lane.loadsOf('big').length
    await lane.clock.advance(10 * MINUTE_MS)
    expect(lane.loadsOf('big')).toHaveLength(begun)
    expect(cut).toBe(0)
    await lane.clock.advance(2 * MINUTE_MS)
    expect(lane.loadsOf('big').length).toBeGreaterThan(begun)
    expect(cut).toBe(1)
  })

  it('a bad file is not tried again before the model is another', async () => {
    const lane = openLane({ bookings: [booking({ endMs: START_MS + 5 * HOUR_MS })] })
    lane.failing.set('big', 'bad file')
    await lane.clock.advance(8 * MINUTE_MS)
    const failed = lane.actor.failures.all()
    expect(failed).toHaveLength(1)
    lane.failing.clear()
    lane.changeModel('second')
    await lane.clock.advance(10 * MINUTE_MS)
    expect(lane.running()).toBe('big')
  })

  it('a crash is a failure: the engine is started again after 30 s, not by requests', async () => {
    const lane = openLane()
    await until(lane, () => lane.slot.view().state === 'up')
    await lane.clock.advance(2 * MINUTE_MS)
    lane.slot.die('segmentation fault')
    await settle()
    expect(lane.actor.ask('bob')).toMatchObject({ kind: 'refuse', error: { code: 'slot.loading', retryAfterS: 30 } })
    await lane.clock.advance(29 * SECOND_MS)
    expect(lane.loadsOf('small')).toHaveLength(1)
    await lane.clock.advance(2 * SECOND_MS)
    expect(lane.loadsOf('small')).toHaveLength(2)
  })

  it('a load that takes too long is stopped and counts as a failure', async () => {
    const lane = openLane({ facts: { loadTimeoutMs: 10 * SECOND_MS } })
    await lane.clock.advance(11 * SECOND_MS)
    expect(lane.actor.failures.of(SMALL)).toMatchObject({ code: 'slot.health_failed', failures: 1 })
    expect(lane.slot.view().running).toBeUndefined()
  })

  it('a cancelled booking stops its load at once', async () => {
    const lane = openLane({ bookings: [booking({ startMs: START_MS + 3 * MINUTE_MS })] })
    await until(lane, () => lane.slot.view().state === 'loading' && lane.running() === 'big')
    expect(lane.actor.isStarting('r1')).toBe(true)
    await lane.book([])
    expect(lane.actor.isStarting('r1')).toBe(false)
    await lane.clock.advance(30 * SECOND_MS)
    expect(lane.running()).toBe('small')
  })

  it('a booking that is cancelled while its lane drains costs nobody anything', async () => {
    const lane = openLane({ bookings: [booking({ startMs: START_MS + 4 * MINUTE_MS })] })
    await until(lane, () => lane.slot.view().state === 'up')
    let isCut = false
    lane.slot.lease(() => {
      isCut = true
    })
    await until(lane, () => lane.slot.view().state === 'draining')
    expect(lane.actor.ask('bob')).toMatchObject({ kind: 'refuse', error: { code: 'model_switching' } })
    await lane.book([])
    expect(lane.actor.ask('bob').kind).toBe('serve')
    await lane.clock.advance(5 * MINUTE_MS)
    expect([isCut, lane.running(), lane.slot.loads.length]).toEqual([false, 'small', 1])
  })

  it('who waits is told when the list changes, who is served has the drain limit', async () => {
    const lane = openLane({ bookings: [booking({ use: { kind: 'model', model: 'small', profile: 'chat' } })] })
    await lane.clock.advance(9 * MINUTE_MS)
    const ended: string[] = []
    const enter = (user: string) => {
      const stay = lane.actor.enter(user, (error) => ended.push(`${user} ${error.code}`))
      if (stay instanceof Hal0Error) throw stay
      return stay
    }
    enter('waiting')
    const served = enter('served')
    expect(served.leased()).toBeUndefined()
    const holder = enter('ada')
    expect(holder.leased()).toBeUndefined()
    await lane.clock.advance(MINUTE_MS)
    expect(ended).toEqual(['waiting gpu_reserved'])
    await lane.clock.advance(29 * SECOND_MS)
    expect(ended).toHaveLength(1)
    await lane.clock.advance(SECOND_MS)
    expect(ended).toEqual(['waiting gpu_reserved', 'served gpu_reserved'])
    // The same target: nothing was loaded again.
    expect(lane.slot.loads).toHaveLength(1)
  })

  it('an answer of the list is of the moment, also between two looks', async () => {
    const lane = openLane({ bookings: [booking()] })
    await lane.clock.advance(10 * MINUTE_MS - 1)
    expect(lane.actor.ask('bob').kind).toBe('serve')
    lane.clock.jumpWallClock(1)
    expect(lane.actor.ask('bob')).toMatchObject({ kind: 'refuse', error: { code: 'gpu_reserved' } })
  })

  it('what ends with the daemon, or with the lane, has not failed', async () => {
    const lane = openLane()
    lane.failing.set('small', 'it stops with the daemon')
    await lane.clock.advance(SECOND_MS)
    lane.actor.close()
    await lane.clock.advance(MINUTE_MS)
    expect(lane.slot.view().state).toBe('failed')
    expect(lane.events.filter(({ type }) => type === 'lane.failed')).toEqual([])
  })

  it('its row shows a choice by hand as long as that counts', async () => {
    const manual = { target: BIG, madeAtMs: START_MS, madeBy: 'ada', untilMs: START_MS + 5 * MINUTE_MS }
    const lane = openLane({ facts: { manual } })
    const shown = () => {
      const file = { name: 'gpu0', config: laneConfigSchema.parse({}), problem: undefined }
      const { actor } = lane
      return buildLaneRow({
        file,
        actor,
        manual,
        inFlight: 0,
        storeProblem: undefined,
        nameOfUser: (id) => id,
        missingGpus: [],
      }).manual
    }
    await lane.clock.advance(5 * MINUTE_MS - 1)
    expect(shown()).toMatchObject({ target: BIG, made_by: 'ada' })
    await lane.clock.advance(1)
    expect(shown()).toBeNull()
  })

  it('a clock that jumps misses no end and starts nothing twice', async () => {
    const lane = openLane({ bookings: [booking()] })
    await lane.clock.advance(20 * MINUTE_MS)
    expect(lane.running()).toBe('big')
    lane.clock.jumpWallClock(2 * HOUR_MS)
    await lane.clock.advance(MINUTE_MS)
    expect(lane.running()).toBe('small')
    expect(lane.slot.loads.map(({ target }) => target.model)).toEqual(['small', 'big', 'small'])
  })
})

// A machine slept, or somebody set its clock: what takes time takes as long as before. All of it counted by the wall clock once.
describe.each([
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
] as const)('a wall clock that jumps %s an hour', (_name, jumpMs) => {
  const long = booking({ startMs: START_MS - 3 * HOUR_MS, endMs: START_MS + 9 * HOUR_MS })

  it('a load that runs has not taken longer', async () => {
    const lane = openLane({ facts: { loadTimeoutMs: 25 * SECOND_MS } })
    await lane.clock.advance(5 * SECOND_MS)
    lane.clock.jumpWallClock(jumpMs)
    expect(lane.actor.ask('bob')).toMatchObject({ kind: 'refuse', error: { code: 'slot.loading', retryAfterS: 15 } })
    await lane.clock.advance(15 * SECOND_MS)
    expect([lane.slot.view().state, lane.actor.failures.all()]).toEqual(['up', []])
  })

  it('a load that hangs is given up in time', async () => {
    const lane = openLane({ facts: { loadTimeoutMs: 10 * SECOND_MS } })
    await lane.clock.advance(5 * SECOND_MS)
    lane.clock.jumpWallClock(jumpMs)
    await lane.clock.advance(4 * SECOND_MS)
    expect(lane.actor.failures.of(SMALL)).toBeUndefined()
    await lane.clock.advance(2 * SECOND_MS)
    expect(lane.actor.failures.of(SMALL)).toMatchObject({ code: 'slot.health_failed' })
  })

  it('the fallback is left for a retry within its delay', async () => {
    const lane = openLane({ bookings: [long] })
    lane.failing.set('big', 'out of memory')
    await until(lane, () => lane.actor.isFallback && lane.slot.view().state === 'up')
    lane.failing.clear()
    lane.clock.jumpWallClock(jumpMs)
    await lane.clock.advance(MINUTE_MS)
    expect([lane.running(), lane.actor.isFallback]).toEqual(['big', false])
  })

  it('who lost access has the drain limit', async () => {
    const lane = openLane({ facts: { default: BIG } })
    await until(lane, () => lane.slot.view().state === 'up')
    const ended: string[] = []
    const stay = lane.actor.enter('bob', (error) => ended.push(error.code))
    if (stay instanceof Hal0Error) throw stay
    expect(stay.leased()).toBeUndefined()
    await lane.book([long])
    lane.clock.jumpWallClock(jumpMs)
    await lane.clock.advance(29 * SECOND_MS)
    expect(ended).toEqual([])
    await lane.clock.advance(SECOND_MS)
    expect(ended).toEqual(['gpu_reserved'])
  })
})

/** Lets time go on until it is so. */
async function until(lane: ReturnType<typeof openLane>, isSo: () => boolean): Promise<void> {
  for (let step = 0; step < 10_000 && !isSo(); step += 1) await lane.clock.advance(100)
  expect(isSo()).toBe(true)
}

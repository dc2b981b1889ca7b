import fc from 'fast-check'
import { type Booking, isInForce, isRunning, targetOf } from '../../src/lanes/rules/booking.ts'
import type { ManualChoice, TargetQuestion } from '../../src/lanes/rules/decision.ts'
import { type LaneTarget, NOTHING } from '../../src/lanes/rules/lane-target.ts'

/** Times are single ms, so that random ones often touch. */
export interface RandomLane {
  /** In order of start, not overlapping, often touching, of every status. */
  readonly bookings: readonly Booking[]
  readonly manual: ManualChoice | undefined
  readonly default: LaneTarget
  readonly first: LaneTarget
  readonly minPreloadMs: number
  readonly bufferMs: number
  readonly stopTimeoutMs: number
  /** Load times, drawn from in turn: the n-th load moves every estimate on. */
  readonly loadsMs: readonly number[]
  /** The loop looks at least so often. */
  readonly tickMs: number
}

/** Few, so that neighbours often want the same one; the last differs in its profile only. */
const TARGETS = [
  NOTHING,
  { kind: 'model', model: 'a', profile: 'p' },
  { kind: 'model', model: 'b', profile: 'p' },
  { kind: 'model', model: 'a', profile: 'q' },
] as const satisfies readonly LaneTarget[]
const STATUSES = ['approved', 'active', 'approved', 'pending', 'approved', 'cancelled', 'rejected'] as const

const target = fc.constantFrom<LaneTarget>(...TARGETS)
const slot = fc.record({
  gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 150 })),
  lengthMs: fc.integer({ min: 1, max: 60 }),
  target,
  status: fc.constantFrom(...STATUSES),
})
const choice = fc.record({
  target,
  madeAtMs: fc.nat(500),
  lastsMs: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
})

export const randomLane: fc.Arbitrary<RandomLane> = fc
  .record({
    slots: fc.array(slot, { maxLength: 6 }),
    choice: fc.option(choice, { nil: undefined }),
    default: target,
    first: target,
    minPreloadMs: fc.nat(40),
    bufferMs: fc.nat(10),
    stopTimeoutMs: fc.nat(20),
    loadsMs: fc.array(fc.nat(70), { minLength: 1, maxLength: 5 }),
    tickMs: fc.integer({ min: 10, max: 200 }),
  })
  .map(({ slots, choice: drawn, ...lane }) => ({ ...lane, bookings: layOut(slots), manual: manualOf(drawn) }))

type Drawn<T> = T extends fc.Arbitrary<infer Value> ? Value : never

function layOut(slots: readonly Drawn<typeof slot>[]): readonly Booking[] {
  let fromMs = 0
  return slots.map((drawn, index) => {
    const startMs = fromMs + drawn.gapMs
    fromMs = startMs + drawn.lengthMs
    return {
      id: `r${index}`,
      lane: 'gpu0',
      ownerId: 'u1',
      memberIds: [],
      startMs,
      endMs: fromMs,
      status: drawn.status,
      use: drawn.target.kind === 'nothing' ? { kind: 'exclusive' } : drawn.target,
      firstUsedMs: undefined,
    }
  })
}

function manualOf(drawn: Drawn<typeof choice> | undefined): ManualChoice | undefined {
  if (drawn === undefined) return undefined
  const { lastsMs, madeAtMs, target: chosen } = drawn
  return { target: chosen, madeAtMs, madeBy: 'ada', untilMs: lastsMs === undefined ? undefined : madeAtMs + lastsMs }
}

/** After this everything of a random lane is over. */
export function endOf({ bookings, manual }: RandomLane): number {
  return Math.max(bookings.at(-1)?.endMs ?? 0, manual?.untilMs ?? 0, manual?.madeAtMs ?? 0) + 5
}

/** What the lane asks at that moment. `loads`: how many it has done. */
export function questionOf(
  lane: RandomLane,
  at: Pick<TargetQuestion, 'nowMs' | 'current' | 'preparedFor'> & { readonly loads: number },
): TargetQuestion {
  const { loads, ...rest } = at
  const { loadsMs, stopTimeoutMs } = lane
  return {
    ...rest,
    bookings: lane.bookings,
    lastStartMs: lastStartOf(lane, at.nowMs),
    manual: lane.manual !== undefined && lane.manual.madeAtMs <= at.nowMs ? lane.manual : undefined,
    default: lane.default,
    estimateMs: (of) =>
      of.kind === 'nothing'
        ? stopTimeoutMs
        : (loadsMs[(of.model.length + of.profile.charCodeAt(0) + loads) % loadsMs.length] ?? 0),
    minPreloadMs: lane.minPreloadMs,
    bufferMs: lane.bufferMs,
    stopTimeoutMs,
  }
}

/** As the calendar tells it, counted anew. */
function lastStartOf({ bookings }: RandomLane, nowMs: number): number {
  return Math.max(
    Number.NEGATIVE_INFINITY,
    ...bookings.filter((of) => isInForce(of) && of.startMs <= nowMs).map((of) => of.startMs),
  )
}

/** The target of the booking whose window it is; undefined = none is. */
export function bookedAt({ bookings }: RandomLane, nowMs: number): LaneTarget | undefined {
  const running = bookings.find((of) => isRunning(of, nowMs))
  return running === undefined ? undefined : targetOf(running)
}

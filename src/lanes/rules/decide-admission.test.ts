import { describe, expect, it } from 'vitest'
import { LANE_PHASES, type LanePhase } from '../../contract/lane.ts'
import type { Booking } from './booking.ts'
import { type AdmissionQuestion, decideAdmission } from './decide-admission.ts'
import type { TargetFailure } from './decision.ts'
import { type LaneTarget, NOTHING } from './lane-target.ts'

const M: LaneTarget & { readonly kind: 'model' } = { kind: 'model', model: 'm', profile: 'p' }
const NOW = Date.UTC(2026, 11, 1, 10)
const END = NOW + 90_000
const booking: Booking = {
  id: 'r1',
  lane: 'gpu0',
  ownerId: 'owner',
  memberIds: ['mate'],
  startMs: NOW - 1_000,
  endMs: END,
  status: 'active',
  use: M,
  firstUsedMs: undefined,
}
const exclusive: Booking = { ...booking, use: { kind: 'exclusive' } }
const failure: TargetFailure = {
  failures: 2,
  code: 'slot.spawn_failed',
  cause: 'out_of_memory',
  message: 'cudaMalloc failed: out of memory; lower the context',
  failedAtMs: NOW - 1_000,
  retry: { kind: 'after', delayMs: 60_000 },
}
const calm: AdmissionQuestion = {
  lane: 'gpu0',
  userId: 'owner',
  nowMs: NOW,
  running: undefined,
  ownerName: undefined,
  phase: 'ready',
  target: M,
  remainingMs: 12_001,
  failure: undefined,
  retryInMs: undefined,
  storeProblem: undefined,
}

/** `200 id`, or `status code Retry-After`. */
function answer(change: Partial<AdmissionQuestion>): string {
  const decision = decideAdmission({ ...calm, ...change })
  if (decision.kind === 'serve') return `200 ${decision.reservationId}`
  const { code, retryAfterS, status } = decision.error
  return `${status} ${code} ${retryAfterS ?? '-'}`
}

function refusal(change: Partial<AdmissionQuestion>) {
  const decision = decideAdmission({ ...calm, ...change })
  if (decision.kind === 'serve') throw new Error('it was served')
  return decision.error
}

describe('decideAdmission', () => {
  it.each<readonly [string, Partial<AdmissionQuestion>, string]>([
    ['1 no holder', { running: booking, userId: 'other' }, '403 gpu_reserved -'],
    ['1 before 2', { running: exclusive, userId: 'other' }, '403 gpu_reserved -'],
    ['1 while the store is away', { running: booking, userId: 'other', storeProblem: 'x' }, '403 gpu_reserved -'],
    ['2 exclusive: until its end', { running: exclusive, phase: 'off', target: NOTHING }, '503 gpu_exclusive 90'],
    ['2 in its last ms', { running: exclusive, nowMs: END - 1 }, '503 gpu_exclusive 1'],
    ['2 a member', { running: exclusive, userId: 'mate' }, '503 gpu_exclusive 90'],
    ['2 while it stops', { running: exclusive, phase: 'stopping' }, '503 gpu_exclusive 90'],
    ['the store is away', { storeProblem: 'x' }, '503 lane.store_unavailable 30'],
    ['the store is away, before 3', { storeProblem: 'x', phase: 'draining' }, '503 lane.store_unavailable 30'],
    ['the store is away: a holder is served', { storeProblem: 'x', running: booking }, '200 r1'],
    ['3 draining', { phase: 'draining' }, '503 model_switching 13'],
    ['3 stopping', { phase: 'stopping' }, '503 model_switching 13'],
    ['3 stopping to nothing', { phase: 'stopping', target: NOTHING }, '503 model_switching 13'],
    ['3 nobody knows how long', { phase: 'draining', remainingMs: undefined }, '503 model_switching 5'],
    ['3 overdue', { phase: 'draining', remainingMs: -1 }, '503 model_switching 1'],
    ['4 loading', { phase: 'loading' }, '503 slot.loading 13'],
    ['4 loading for a holder', { phase: 'loading', running: booking }, '503 slot.loading 13'],
    ['4 waiting', { phase: 'waiting', failure, retryInMs: 59_001 }, '503 slot.loading 60'],
    ['4 waiting, due', { phase: 'waiting', failure, retryInMs: 0 }, '503 slot.loading 1'],
    ['4 waiting for good', { phase: 'waiting', failure }, '503 slot.not_ready -'],
    ['4 about to load', { phase: 'off' }, '503 slot.loading 13'],
    ['5 nothing targeted', { phase: 'off', target: NOTHING }, '503 slot.not_ready -'],
    ['5 nothing targeted, not stopped yet', { phase: 'ready', target: NOTHING }, '503 slot.not_ready -'],
    ['6 nobody booked', {}, '200 null'],
    ['6 the owner', { running: booking }, '200 r1'],
    ['6 a member', { running: booking, userId: 'mate' }, '200 r1'],
  ])('%s', (_name, change, expected) => {
    expect(answer(change)).toBe(expected)
  })

  it('serves in no other phase than ready', () => {
    const served = LANE_PHASES.filter((phase: LanePhase) => answer({ phase }).startsWith('200'))
    expect(served).toEqual(['ready'])
  })

  it('1 says until when, and by whom to those who may know', () => {
    const error = refusal({ running: booking, userId: 'other' })
    expect(error.message).toContain("lane 'gpu0' is booked until 2026-12-01T10:01:30.000Z")
    expect(error.details).toEqual({ lane: 'gpu0', until: '2026-12-01T10:01:30.000Z' })
    expect(error.param).toBeUndefined()
    expect(refusal({ running: booking, userId: 'other', ownerName: 'ada' }).message).toContain('booked by ada until')
  })

  it('4 says why a load failed, and when the next one is', () => {
    expect(refusal({ phase: 'waiting', failure, retryInMs: 59_001 }).message).toBe(
      "lane 'gpu0' could not load m (profile p) and tries again in 60 s: it ran out of memory (slot.spawn_failed)",
    )
    const error = refusal({ phase: 'waiting', failure })
    expect(error.message).toContain(': it ran out of memory (slot.spawn_failed)')
    expect(error.details?.['remedy']).toContain('hal0 lane reload gpu0')
  })

  it('keeps to itself why the store is away', () => {
    expect(JSON.stringify(refusal({ storeProblem: '/var/lib/hal0.db' }).message)).not.toContain('hal0.db')
  })
})

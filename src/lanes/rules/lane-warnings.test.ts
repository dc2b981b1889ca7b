import { expect, it } from 'vitest'
import type { Booking } from './booking.ts'
import { laneWarnings } from './lane-warnings.ts'

const HOUR_MS = 3_600_000

function booking(id: string, more: Partial<Booking> = {}): Booking {
  return {
    id,
    lane: 'desk',
    ownerId: 'u1',
    memberIds: [],
    startMs: HOUR_MS,
    endMs: 2 * HOUR_MS,
    status: 'approved',
    use: { kind: 'exclusive' },
    firstUsedMs: undefined,
    ...more,
  }
}
const WINDOW = '(1970-01-01T01:00:00.000Z to 1970-01-01T02:00:00.000Z)'
const model = { kind: 'model', model: 'hello', profile: 'chat' } as const

type Facts = Parameters<typeof laneWarnings>[0]
const strict = { allow_exclusive: false, approval: 'required', device: 'cpu', runner: undefined } as const
const told = (facts: Partial<Facts>) =>
  laneWarnings({ config: strict, missingGpus: [], bookings: [booking('r1')], nowMs: 0, ...facts })

it.each<[string, Partial<Facts>, string | undefined]>([
  ['they are allowed', { config: { ...strict, allow_exclusive: true } }, undefined],
  ['there is none', { bookings: [] }, undefined],
  ['it is of a model', { bookings: [booking('r1', { use: model })] }, undefined],
  ['it is cancelled', { bookings: [booking('r1', { status: 'cancelled' })] }, undefined],
  ['it is over', { nowMs: 2 * HOUR_MS }, undefined],
  ['it runs', { nowMs: 2 * HOUR_MS - 1 }, `stays until somebody cancels: r1 ${WINDOW}`],
  ['it waits for approval', { bookings: [booking('r1', { status: 'pending' })] }, `r1 ${WINDOW}`],
  ['two', { bookings: [booking('r1'), booking('r2')] }, `stay until somebody cancels: r1 ${WINDOW}, r2 ${WINDOW}`],
  ['many', { bookings: ['a', 'b', 'c', 'd', 'e'].map((id) => booking(id)) }, `c ${WINDOW}, and 2 more`],
])('%s', (_name, facts, end) => {
  const warnings = told(facts)
  expect(warnings).toHaveLength(end === undefined ? 0 : 1)
  if (end !== undefined) expect(warnings[0]?.endsWith(end)).toBe(true)
})

it.each<[string, Partial<Booking>, number, string | undefined]>([
  ['waits', {}, 0, `rejected: r1 ${WINDOW}`],
  ['is approved', { status: 'approved' }, 0, undefined],
  ['1 ms before its start', {}, HOUR_MS - 1, `rejected: r1 ${WINDOW}`],
  ['has not been decided in time', {}, HOUR_MS, undefined],
])('where no approval is needed any more: one that %s', (_name, more, nowMs, end) => {
  const pending = booking('r1', { status: 'pending', use: model, ...more })
  const config = { ...strict, approval: 'none' } as const
  const [text, ...others] = told({ config, bookings: [pending], nowMs })
  expect([text?.endsWith(end ?? '?') === true, others]).toEqual([end !== undefined, []])
  expect(told({ bookings: [pending], nowMs })).toEqual([])
})

it.each<[string, Partial<Facts['config']>, number[], string | undefined]>([
  ['all is there', {}, [], undefined],
  ['a GPU is not there', {}, [7], 'no GPU 7 for gpu-cuda'],
  ['two are not there', {}, [6, 7], 'no GPUs 6, 7 for gpu-cuda'],
  ['the runner has no use for GPUs', { runner: 'embedded' }, [], 'computes on the CPU'],
  ['it is meant for the CPU', { device: 'cpu', runner: 'embedded' }, [], undefined],
])('of a GPU: %s', (_name, more, missingGpus, part) => {
  const warnings = told({ config: { ...strict, device: 'gpu-cuda', ...more }, missingGpus, bookings: [] })
  expect(warnings.map((text) => text.includes(part ?? '?'))).toEqual(part === undefined ? [] : [true])
})

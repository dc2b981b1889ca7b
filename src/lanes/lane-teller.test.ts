import { describe, expect, it } from 'vitest'
import { silentLog } from '../kernel/log.ts'
import { LaneTeller } from './lane-teller.ts'
import type { Notice, Notices } from './notices/notices.ts'
import type { Booking } from './rules/booking.ts'
import type { TargetFailure } from './rules/decision.ts'

const BIG = { kind: 'model', model: 'big', profile: 'chat' } as const
const SMALL = { kind: 'model', model: 'small', profile: 'chat' } as const
const BOOKING: Booking = {
  ...{ id: 'r1', lane: 'gpu0', ownerId: 'ada', memberIds: [], startMs: 0, endMs: 1_000, status: 'active' },
  use: BIG,
  firstUsedMs: undefined,
}
const FAILURE: TargetFailure = {
  ...{ failures: 1, code: 'slot.spawn_failed', message: 'it ended', failedAtMs: 0 },
  retry: { kind: 'after', delayMs: 30_000 },
}

function openTeller(wasTold?: Notices['wasTold']) {
  const told: Notice[] = []
  const teller = new LaneTeller({
    ...{ name: 'gpu0', log: silentLog, publish: () => {}, describeHolders: async () => '' },
    tell: (notice) => told.push(notice),
    ...(wasTold === undefined ? {} : { wasTold }),
  })
  return { teller, told, events: () => told.map(({ event }) => event) }
}

it.each([
  ['after', 'The default of the lane, small (profile chat), serves in its place. hal0 keeps trying.'],
  [
    'never',
    'The default of the lane, small (profile chat), serves in its place. It is not tried again before the model or the profile is another.',
  ],
] as const)('a fallback says why, what serves, and whether it is tried again (%s), in sentences', (kind, said) => {
  const { teller, told } = openTeller()
  const retry = kind === 'never' ? { kind, fingerprint: '' } : { kind, delayMs: 30_000 }
  const served = { kind: 'run', target: SMALL, isFallback: true, reviewAtMs: undefined } as const
  teller.fallback(BOOKING, { ...FAILURE, retry }, served)
  expect(told.map(({ detail, adminDetail }) => [detail, adminDetail])).toEqual([
    [`Its engine did not start, or ended by itself (slot.spawn_failed). ${said}`, `It ended. ${said}`],
  ])
})

it('keeps what stood in for what, and what failed', () => {
  const { teller } = openTeller()
  const decision = { target: BIG, reason: 'reserved', branch: 1, booking: BOOKING, reviewAtMs: undefined } as const
  const look = { decision, phase: 'ready', current: SMALL } as const
  teller.failed(BIG, { ...FAILURE, failedAtMs: 5 })
  teller.looked({ ...look, served: { kind: 'run', target: SMALL, isFallback: true, reviewAtMs: 9 }, nowMs: 6 })
  teller.looked({
    ...look,
    current: BIG,
    served: { kind: 'run', target: BIG, isFallback: false, reviewAtMs: 9 },
    nowMs: 7,
  })
  const { history } = teller
  const steps = history.within({ fromMs: 0, toMs: 10 })
  expect(steps.map(({ target, inPlaceOf }) => [target, inPlaceOf])).toEqual([
    [SMALL, BIG],
    [BIG, undefined],
  ])
  const failed = (fromMs: number, toMs: number) => history.failuresWithin({ fromMs, toMs }).length
  expect([failed(5, 6), failed(6, 9), failed(0, 5)]).toEqual([1, 0, 0])
})

describe('that what was booked is there after all', () => {
  it('is told once, to who was told of the fallback', () => {
    const { teller, events } = openTeller()
    teller.arrived(BIG, BOOKING)
    expect(events()).toEqual([])
    teller.fallback(BOOKING, FAILURE, { kind: 'run', target: SMALL, isFallback: true, reviewAtMs: undefined })
    teller.arrived(SMALL, BOOKING)
    expect(events()).toEqual(['fallback'])
    teller.arrived(BIG, BOOKING)
    teller.arrived(BIG, BOOKING)
    expect(events()).toEqual(['fallback', 'recovered'])
  })

  it('is told also when an earlier life told of the fallback', () => {
    const { teller, events } = openTeller((event, id) => event === 'fallback' && id === 'r1')
    teller.arrived(SMALL, BOOKING)
    teller.arrived(BIG, undefined)
    teller.arrived(BIG, { ...BOOKING, id: 'r2' })
    expect(events()).toEqual([])
    teller.arrived(BIG, BOOKING)
    expect(events()).toEqual(['recovered'])
  })
})

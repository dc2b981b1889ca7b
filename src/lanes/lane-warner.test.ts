import { expect, it } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { LaneFile } from '../config/lanes/live-lanes.ts'
import type { NewEvent } from '../contract/events.ts'
import { laneConfigSchema } from '../contract/lane-config.ts'
import { silentLog } from '../kernel/log.ts'
import { createLaneWarner } from './lane-warner.ts'
import type { Booking } from './rules/booking.ts'

const fileOf = (allow: boolean): LaneFile => ({
  name: 'desk',
  config: laneConfigSchema.parse({ allow_exclusive: allow }),
  problem: undefined,
})

it('tells of bookings that an edit no longer allows, once per edit', () => {
  const clock = new ManualClock()
  const nowMs = clock.nowMs()
  const booking: Booking = {
    ...{ id: 'r1', lane: 'desk', ownerId: 'u1', memberIds: [], status: 'approved', use: { kind: 'exclusive' } },
    ...{ startMs: nowMs + 1_000, endMs: nowMs + 2_000, firstUsedMs: undefined },
  }
  const events: NewEvent[] = []
  const warn = createLaneWarner({
    clock,
    log: silentLog,
    publish: (event) => void events.push(event),
    calendar: { upcoming: () => [booking] },
    missingGpus: () => [],
  })
  for (const allow of [true, false, false, true, false]) warn([fileOf(allow)])
  expect(events.map(({ type, severity, source }) => [type, severity, source])).toEqual([
    ['lane.warning', 'warning', 'lane:desk'],
    ['lane.warning', 'warning', 'lane:desk'],
  ])
  expect(events[0]?.message).toMatch(/^lane desk: exclusive bookings are not allowed here, but this one.*r1 \(/)
  warn([])
})

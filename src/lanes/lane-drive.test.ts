import { describe, expect, it } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { silentLog } from '../kernel/log.ts'
import { MINUTE_MS } from '../kernel/units.ts'
import { FailureBook } from './failure-book.ts'
import { LaneDrive } from './lane-drive.ts'
import type { LaneSlotView } from './lane-slot.ts'
import type { LaneTarget } from './rules/lane-target.ts'

const SMALL: LaneTarget = { kind: 'model', model: 'small', profile: 'chat' }

/** A lane that is new, and finds its slot so. */
function openDrive(found: LaneSlotView['state']) {
  const clock = new ManualClock()
  const failures = new FailureBook(() => '')
  const asked: LaneTarget[] = []
  let view: LaneSlotView = { state: found, running: SMALL, inFlight: 1, failure: undefined }
  const drive = new LaneDrive(
    {
      name: 'gpu0',
      clock,
      log: silentLog,
      failures,
      slot: {
        view: () => view,
        run: async (target) => {
          asked.push(target)
          view = { ...view, state: 'up', running: target }
        },
        stop: async () => {},
        onChange: () => () => {},
      },
      describeHolders: async () => '',
    },
    { wake: () => {}, onArrived: () => {}, onFailed: () => {} },
  )
  return {
    asked,
    failures,
    drive,
    async look() {
      drive.observe(clock.nowMs(), MINUTE_MS)
      drive.goTo(SMALL, undefined, 0)
      await settle()
    },
    ends() {
      view = { state: 'down', running: undefined, inFlight: 0, failure: undefined }
    },
  }
}

describe('what a lane finds in its slot', () => {
  it('an engine that is up is taken over', async () => {
    const { asked, drive, look } = openDrive('up')
    await look()
    expect([asked, drive.current]).toEqual([[], SMALL])
  })

  it.each(['draining', 'stopping'] as const)('one that is %s is no more: its end is no failure', async (state) => {
    const { asked, drive, ends, failures, look } = openDrive(state)
    ends()
    await look()
    expect([asked, drive.current, failures.all()]).toEqual([[SMALL], SMALL, []])
  })

  it.each(['draining', 'stopping'] as const)('one that is %s does not count as what the lane wants', async (state) => {
    const { asked, failures, look } = openDrive(state)
    await look()
    expect([asked, failures.all()]).toEqual([[SMALL], []])
  })
})

import { describe, expect, it } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import type { PullJob } from '../../contract/pull.ts'
import { pullJobSchema } from '../../contract/pull.ts'
import { RunningPull } from './running-pull.ts'

interface Follower {
  readonly seen: PullJob[]
  readonly over: Promise<void>
  readonly leave: () => void
}

function follow(pull: RunningPull): Follower {
  const seen: PullJob[] = []
  const left = new AbortController()
  const read = async (): Promise<void> => {
    for await (const job of pull.follow(left.signal)) seen.push(pullJobSchema.parse(job))
  }
  return { seen, over: read(), leave: () => left.abort() }
}

function begin(): { clock: ManualClock; pull: RunningPull } {
  const clock = new ManualClock()
  const pull = new RunningPull('m', clock)
  pull.setFiles([{ path: 'm.gguf', sizeBytes: 1000, onDiskBytes: 100 }])
  return { clock, pull }
}

describe('follow', () => {
  it('gives the job at once, then at most four a second, and the end at once', async () => {
    const { clock, pull } = begin()
    const { seen, over } = follow(pull)
    await settle()
    expect(seen.map(({ done_bytes }) => done_bytes)).toEqual([100])
    for (let bytes = 101; bytes <= 120; bytes++) {
      pull.setOnDisk('m.gguf', bytes)
      await clock.advance(50)
    }
    // A second of changes every 50 ms, told at each quarter.
    expect(seen.map(({ done_bytes }) => done_bytes)).toEqual([100, 105, 110, 115, 120])
    pull.end('done')
    await settle()
    expect(seen.at(-1)).toMatchObject({ state: 'done', done_bytes: 120, finished_at: '2026-01-01T00:00:01.000Z' })
    await over
    expect(clock.pendingTimers).toBe(0)
  })

  it('tells once a second how the rate falls when nothing comes', async () => {
    const { clock, pull } = begin()
    pull.addReceived(0)
    const { seen, leave, over } = follow(pull)
    pull.addReceived(5000)
    await clock.advance(1000)
    await clock.advance(250)
    expect(seen.map(({ bytes_per_second }) => bytes_per_second)).toEqual([null, 4000])
    await clock.advance(1250)
    expect(seen.at(-1)?.bytes_per_second).toBe(2000)
    leave()
    await over
    expect(clock.pendingTimers).toBe(0)
  })

  it('of a pull that is over gives its end and ends', async () => {
    const { clock, pull } = begin()
    pull.end('failed', { message: 'x', type: 'server_error', param: null, code: 'hub.unreachable', details: {} })
    pull.end('done')
    const { seen, over } = follow(pull)
    await over
    expect(seen).toMatchObject([{ state: 'failed', error: { code: 'hub.unreachable' }, bytes_per_second: null }])
    expect(clock.pendingTimers).toBe(0)
  })

  it('several followers see the same end', async () => {
    const { pull } = begin()
    const followers = [follow(pull), follow(pull)]
    await settle()
    pull.end('cancelled')
    await Promise.all(followers.map(({ over }) => over))
    expect(followers.map(({ seen }) => seen.at(-1)?.state)).toEqual(['cancelled', 'cancelled'])
  })
})

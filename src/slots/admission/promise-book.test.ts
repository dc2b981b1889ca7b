import { describe, expect, it } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { needOf, poolOf } from '../../../test/support/memory-world.ts'
import { GIB } from '../../kernel/units.ts'
import { PromiseBook } from './promise-book.ts'
import type { Placed, PoolReading } from './rules/memory-map.ts'

const STOPPED = { slot: 'a', device: 'gpu-cuda', gpus: undefined, need: needOf(10) } as const
const reading = (freeGib: number): PoolReading[] => [{ ...poolOf('gpu0', 24), freeBytes: freeGib * GIB }]

/** A book on a card of which the test says how much is free, and how long it takes to read it. */
function open(freeGib: number, residents: readonly Placed[] = []) {
  const clock = new ManualClock()
  const card = { freeGib, readMs: 0 }
  const read = async () => {
    if (card.readMs > 0) await new Promise<void>((resolve) => void clock.setTimer(card.readMs, resolve))
    return reading(card.freeGib)
  }
  return {
    clock,
    card,
    book: new PromiseBook(
      { read },
      clock,
      () => 10_000,
      () => residents,
    ),
  }
}

const isReleasing = async ({ book }: ReturnType<typeof open>) => book.releasing(await book.read()).has('gpu0')

describe('memory of an engine that is stopped', () => {
  it('is waited for until it is back', async () => {
    const at = open(4)
    const stop = at.book.stopBegins(STOPPED, () => {})
    await settle()
    stop.exited()
    stop.ended()
    expect(await isReleasing(at)).toBe(true)
    at.card.freeGib = 14
    expect(await isReleasing(at)).toBe(false)
  })

  it.each([{ looked: true }, { looked: false }])(
    'is not waited for when the reading at its stop shows it as free already (looked before: $looked)',
    async ({ looked }) => {
      const at = open(4)
      if (looked) await at.book.read()
      at.card.readMs = 50
      const stop = at.book.stopBegins(STOPPED, () => {})
      // The engine is dead at once, its group is known to be gone only later: the reading falls between the two.
      at.card.freeGib = 14
      stop.exited()
      await at.clock.advance(60)
      stop.ended()
      at.card.readMs = 0
      // Without an earlier reading nobody can tell how much is to come: the wait is bounded.
      expect(await isReleasing(at)).toBe(!looked)
      await at.clock.advance(10_000)
      expect(await isReleasing(at)).toBe(false)
    },
  )

  it('is not waited for beyond what other slots leave of the card', async () => {
    const at = open(4, [{ ...STOPPED, slot: 'b', need: needOf(9) }, STOPPED])
    // Dead before anybody could know: the reading that is to show what it held shows it as free.
    at.card.freeGib = 15
    const stop = at.book.stopBegins(STOPPED, () => {})
    await settle()
    stop.exited()
    stop.ended()
    expect(await isReleasing(at)).toBe(false)
  })

  it('an old reading does not count where a new one came in time', async () => {
    const at = open(1)
    await at.book.read()
    await at.clock.advance(60_000)
    at.card.freeGib = 14
    const stop = at.book.stopBegins(STOPPED, () => {})
    await settle()
    stop.exited()
    stop.ended()
    // 14 GiB are free while it still holds 10: that 9 would be enough is long over.
    expect(await isReleasing(at)).toBe(true)
    at.card.freeGib = 24
    expect(await isReleasing(at)).toBe(false)
  })
})

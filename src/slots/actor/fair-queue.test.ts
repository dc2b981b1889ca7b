import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairQueue, type Waiter } from './fair-queue.ts'

const KEYS = ['a', 'b', 'c', undefined] as const
type Key = (typeof KEYS)[number]

function waiterOf(key: Key, nth: number, modelId?: string): Waiter {
  return { key, nth, modelId, waitMs: 0, resolve: () => {}, reject: () => {} }
}

/** The keys of all that wait, in the order in which they are served. */
function drain(queue: FairQueue, mayHave: (waiter: Waiter) => boolean = () => true): Waiter[] {
  const served: Waiter[] = []
  for (let next = queue.takeNext(mayHave); next !== undefined; next = queue.takeNext(mayHave)) served.push(next)
  return served
}

describe('in turn by key', () => {
  it.each<[string, Key[], Key[]]>([
    ['one key: first come, first served', ['a', 'a', 'a'], ['a', 'a', 'a']],
    ['a flood and one other: next but one', ['a', 'a', 'a', 'a', 'b'], ['a', 'b', 'a', 'a', 'a']],
    ['three keys', ['a', 'a', 'b', 'c', 'b', 'a'], ['a', 'b', 'c', 'a', 'b', 'a']],
    ['those without a key are one', [undefined, undefined, undefined, 'a'], [undefined, 'a', undefined, undefined]],
  ])('%s', (_name, arrivals, expected) => {
    const queue = new FairQueue()
    arrivals.forEach((key, nth) => queue.add(waiterOf(key, nth)))
    expect(drain(queue).map(({ key }) => key)).toEqual(expected)
  })

  it('who comes back at once is behind the flood’s next, not behind all of it', () => {
    const queue = new FairQueue()
    for (let nth = 0; nth < 50; nth++) queue.add(waiterOf('a', nth))
    const served: Key[] = []
    for (let nth = 50; nth < 60; nth++) {
      queue.add(waiterOf('b', nth))
      for (let place = 0; place < 2; place++) served.push(queue.takeNext(() => true)?.key as Key)
    }
    expect(served.filter((key) => key === 'b')).toHaveLength(10)
  })

  it('a line of which nobody may have the place keeps its turn', () => {
    const queue = new FairQueue()
    queue.add(waiterOf('a', 0, 'other'))
    queue.add(waiterOf('b', 1))
    queue.add(waiterOf('b', 2))
    expect(queue.takeNext(({ modelId }) => modelId === undefined)?.nth).toBe(1)
    expect(queue.takeNext(() => true)?.nth).toBe(0)
  })
})

/** A slot with so many places and a queue that is bounded; each step a request comes, leaves, or ends. */
type Step =
  | { readonly do: 'come'; readonly key: Key }
  | { readonly do: 'leave'; readonly pick: number }
  | { readonly do: 'end' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('come' as const), key: fc.constantFrom(...KEYS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), pick: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const) }) },
)

describe('whatever comes, leaves and ends', () => {
  it('order within a key is kept, nobody is overtaken twice by another key, the bound holds, all are served', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 200 }), fc.integer({ min: 1, max: 8 }), (steps, limit) => {
        const queue = new FairQueue()
        /** Of each that waits and is first of its line: how often each other key was served since it was. */
        const passed = new Map<Waiter, Map<string | undefined, number>>()
        const heads = () =>
          KEYS.map((key) => [...queue.all()].find((waiter) => waiter.key === key)).filter((one) => one !== undefined)
        let nth = 0
        let came = 0
        let served = 0
        let refused = 0
        let left = 0
        const serve = () => {
          const before = heads()
          const next = queue.takeNext(() => true)
          if (next === undefined) return false
          served++
          expect(before).toContain(next)
          for (const head of before) {
            if (head === next) continue
            const counts = passed.get(head) ?? new Map<string | undefined, number>()
            passed.set(head, counts)
            counts.set(next.key, (counts.get(next.key) ?? 0) + 1)
            expect(counts.get(next.key)).toBeLessThanOrEqual(1)
          }
          return true
        }
        for (const step of steps) {
          if (step.do === 'end') serve()
          else if (step.do === 'leave') {
            const one = [...queue.all()][step.pick]
            if (one !== undefined && queue.remove(one)) left++
          } else {
            came++
            const newcomer = waiterOf(step.key, nth++)
            queue.add(newcomer)
            if (queue.size <= limit) continue
            const isShutOut =
              limit >= 2 && heads().length === 2 && [...queue.all()].filter(({ key }) => key === step.key).length === 1
            const out = queue.refusedFor(newcomer)
            // The first of a key, against one other that has all the rest: it is let in.
            if (isShutOut) expect(out).not.toBe(newcomer)
            expect(queue.remove(out)).toBe(true)
            refused++
          }
          expect(queue.size).toBeLessThanOrEqual(limit)
        }
        while (serve());
        expect([queue.size, served + refused + left]).toEqual([0, came])
      }),
      { numRuns: 500 },
    )
  })
})

import { expect, it } from 'vitest'
import { createCoalescer } from './coalesce.ts'

/** A listing that the test answers by hand. */
function listing() {
  const asked: { signal: AbortSignal; resolve: (names: string[]) => void; reject: (why: Error) => void }[] = []
  const fetch = (signal: AbortSignal) =>
    new Promise<string[]>((resolve, reject) => {
      asked.push({ signal, resolve, reject })
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  return { asked, fetch }
}

const NEVER = new AbortController().signal

it('asks once for all who wait, and anew for who comes later', async () => {
  const { asked, fetch } = listing()
  const all = createCoalescer()
  const waits = [1, 2, 3].map(() => all.share('a', fetch, NEVER))
  expect(asked.length).toBe(1)
  asked[0]?.resolve(['x'])
  expect(await Promise.all(waits)).toEqual([['x'], ['x'], ['x']])
  const later = all.share('a', fetch, NEVER)
  expect(asked.length).toBe(2)
  asked[1]?.resolve([])
  expect(await later).toEqual([])
})

it('another key is another question', async () => {
  const { asked, fetch } = listing()
  const all = createCoalescer()
  const waits = [all.share('a', fetch, NEVER), all.share('b', fetch, NEVER)]
  for (const [n, one] of asked.entries()) one.resolve([String(n)])
  expect(await Promise.all(waits)).toEqual([['0'], ['1']])
})

it('a failure is shared and not kept', async () => {
  const { asked, fetch } = listing()
  const all = createCoalescer()
  const waits = [all.share('a', fetch, NEVER), all.share('a', fetch, NEVER)]
  asked[0]?.reject(new Error('down'))
  expect((await Promise.allSettled(waits)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const again = all.share('a', fetch, NEVER)
  asked[1]?.resolve(['x'])
  expect(await again).toEqual(['x'])
})

it('who leaves ends nothing for the others; when the last has left, the question is taken back', async () => {
  const { asked, fetch } = listing()
  const all = createCoalescer()
  const first = new AbortController()
  const second = new AbortController()
  const left = all.share('a', fetch, first.signal)
  const stays = all.share('a', fetch, second.signal)
  first.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  expect(asked[0]?.signal.aborted).toBe(false)
  second.abort(new Error('left too'))
  await expect(stays).rejects.toThrow('left too')
  expect(asked[0]?.signal.aborted).toBe(true)
  const fresh = all.share('a', fetch, NEVER)
  expect(asked.length).toBe(2)
  asked[1]?.resolve(['x'])
  expect(await fresh).toEqual(['x'])
})

it('who has left before asks nothing', async () => {
  const { asked, fetch } = listing()
  const gone = AbortSignal.abort(new Error('gone'))
  await expect(createCoalescer().share('a', fetch, gone)).rejects.toThrow('gone')
  expect(asked).toEqual([])
})

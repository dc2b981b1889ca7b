import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SwapList } from './swap-list.ts'

it('holds what a Set would hold', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('add', 'delete', 'clear'), fc.nat({ max: 9 })), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (walk) => {
      const items = Array.from({ length: 10 }, (_, n) => ({ n, place: -1 }))
      const list = new SwapList<{ n: number; place: number }>()
      const model = new Set<number>()
      for (const [what, n] of walk) {
        const item = items[n]
        if (item === undefined) continue
        if (what === 'add') {
          list.add(item)
          model.add(n)
        } else if (what === 'delete') expect(list.delete(item)).toBe(model.delete(n))
        else {
          list.clear()
          model.clear()
        }
        expect(list.size).toBe(model.size)
        expect(new Set(list.all().map((one) => one.n))).toEqual(model)
      }
    }),
  )
})

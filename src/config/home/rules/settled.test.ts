import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Signatures, selectSettled, type WatchState } from './settled.ts'

const files = (entries: Readonly<Record<string, string>>): Signatures => new Map(Object.entries(entries))
const start = (entries: Readonly<Record<string, string>>): WatchState => ({
  told: files(entries),
  seen: files(entries),
})

/** Looks one after another; what was told at each. */
function looks(state: WatchState, ...sights: readonly Readonly<Record<string, string>>[]): (readonly string[])[] {
  let now = state
  return sights.map((sight) => {
    const { changed, next } = selectSettled(now, files(sight))
    now = next
    return changed
  })
}

describe('selectSettled', () => {
  it.each([
    ['nothing new', { a: '1' }, [{ a: '1' }, { a: '1' }], [[], []]],
    ['a change is told at the second look, once', { a: '1' }, [{ a: '2' }, { a: '2' }, { a: '2' }], [[], ['a'], []]],
    ['made', {}, [{ a: '1' }, { a: '1' }, { a: '1' }], [[], ['a'], []]],
    ['removed', { a: '1' }, [{}, {}, {}], [[], ['a'], []]],
    ['being written', { a: '1' }, [{ a: '2' }, { a: '3' }, { a: '4' }, { a: '4' }], [[], [], [], ['a']]],
    ['back as it was before anyone was told', { a: '1' }, [{ a: '2' }, { a: '1' }, { a: '1' }], [[], [], []]],
    ['gone for a moment', { a: '1' }, [{}, { a: '1' }], [[], []]],
    ['removed and made anew', { a: '1' }, [{}, { a: '2' }, { a: '2' }], [[], [], ['a']]],
    [
      'a restless file does not hold up another',
      { a: '1', b: '1' },
      [
        { a: '2', b: '2' },
        { a: '3', b: '2' },
      ],
      [[], ['b']],
    ],
    [
      'several, in order',
      {},
      [
        { b: '1', a: '1' },
        { b: '1', a: '1' },
      ],
      [[], ['a', 'b']],
    ],
  ] as const)('%s', (_name, before, sights, expected) => {
    expect(looks(start(before), ...sights)).toEqual(expected)
  })

  it('what is finished is told at first sight, and only that', () => {
    const now = files({ a: '2', b: '2' })
    expect(selectSettled(start({ a: '1', b: '1' }), now, new Set(['b'])).changed).toEqual(['b'])
    expect(selectSettled(start({ a: '1', b: '1' }), now, 'all').changed).toEqual(['a', 'b'])
  })

  it('a look out of turn does not make another file look at rest', () => {
    const half = files({ a: 'half', b: '2' })
    const regular = selectSettled(start({ a: '1', b: '1' }), files({ a: '1', b: '1' }))
    const outOfTurn = selectSettled(regular.next, half, new Set(['b']))
    expect(outOfTurn.changed).toEqual(['b'])
    const next = selectSettled(outOfTurn.next, half)
    expect(next.changed).toEqual([])
    expect(selectSettled(next.next, files({ a: 'whole', b: '2' })).changed).toEqual([])
  })

  it('whatever happens, after two quiet looks everything is told, and nothing that did not change', () => {
    const sight = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2', '3'))
    fc.assert(
      fc.property(sight, fc.array(sight, { maxLength: 8 }), sight, (before, sights, last) => {
        let state = start(before)
        for (const each of [...sights, last, last]) {
          const { changed, next } = selectSettled(state, files(each))
          for (const path of changed) expect(next.told.get(path)).not.toBe(state.told.get(path))
          state = next
        }
        expect(state.told).toEqual(files(last))
        expect(selectSettled(state, files(last)).changed).toEqual([])
      }),
    )
  })
})

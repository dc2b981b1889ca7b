import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergePatch, valueAt, withoutPaths } from './merge-patch.ts'
import { isTable } from './table.ts'

describe('mergePatch', () => {
  // RFC 7396 tells these by example; tables only, as a slot's file is one.
  it.each([
    ['a new value', { a: 'b' }, { a: 'c' }, { a: 'c' }],
    ['a new key', { a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    ['null deletes', { a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    ['null of what is not there', { a: 1 }, { b: null }, { a: 1 }],
    ['a list is replaced', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['a list becomes a value', { a: [1] }, { a: 'c' }, { a: 'c' }],
    ['tables merge', { a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3, c: 2 } }],
    ['null inside a table', { a: { b: 1, c: 2 } }, { a: { b: null } }, { a: { c: 2 } }],
    ['a value becomes a table', { a: 1 }, { a: { b: 2 } }, { a: { b: 2 } }],
    ['a table of nulls where nothing is', {}, { a: { b: null } }, { a: {} }],
  ])('%s', (_name, target, patch, expected) => {
    expect(mergePatch(target, patch)).toEqual(expected)
  })

  it('takes __proto__ for a key like any other, and changes no prototype', () => {
    const patch = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"x": 1}}}')
    const merged = mergePatch({ a: {} }, patch)
    expect(Object.keys(merged)).toEqual(['a', '__proto__'])
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
    expect(valueAt(merged, ['polluted'])).toBeUndefined()
  })

  const data = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'),
    fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.constant(null),
        fc.array(fc.integer(), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 3 }),
      ),
    })).value,
    { maxKeys: 4 },
  )

  it('leaves no null, applied twice changes nothing, and touches neither argument', () => {
    fc.assert(
      fc.property(data, data, (target, patch) => {
        const clean = mergePatch({}, target)
        const before = JSON.stringify([clean, patch])
        const merged = mergePatch(clean, patch)
        expect(!hasNull(merged)).toBe(true)
        expect(mergePatch(merged, patch)).toEqual(merged)
        expect(JSON.stringify([clean, patch])).toBe(before)
        for (const key of Object.keys(clean)) {
          if (!Object.hasOwn(patch, key)) expect(valueAt(merged, [key])).toEqual(valueAt(clean, [key]))
        }
      }),
    )
  })
})

describe('the other tools', () => {
  it('withoutPaths takes out what is there', () => {
    expect(withoutPaths({ a: { b: 1, c: 2 }, d: 3 }, [['a', 'b'], ['d'], ['x', 'y']])).toEqual({ a: { c: 2 } })
  })
  it.each([
    [{}, true],
    [Object.create(null), true],
    [[], false],
    [null, false],
    [new Date(0), false],
    ['x', false],
  ])('isTable %j', (value, expected) => {
    expect(isTable(value)).toBe(expected)
  })
})

function hasNull(value: unknown): boolean {
  return value === null || (isTable(value) && Object.values(value).some(hasNull))
}

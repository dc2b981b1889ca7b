import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseNext, chooseRefused, type Lines } from './choose-next.ts'

interface Named {
  readonly name: string
  readonly key: string | undefined
}

/** `a1 a2 b1`: lines in the order in which their keys come first; `-` is the line of those without a key. */
function linesOf(text: string): Lines<Named> {
  const lines = new Map<string | undefined, Set<Named>>()
  for (const name of text.split(' ').filter((word) => word !== '')) {
    const key = name.startsWith('-') ? undefined : name.charAt(0)
    lines.set(key, (lines.get(key) ?? new Set()).add({ name, key }))
  }
  return lines
}

function find(lines: Lines<Named>, name: string): Named {
  const found = [...lines.values()].flatMap((line) => [...line]).find((one) => one.name === name)
  if (found === undefined) throw new Error(`no ${name}`)
  return found
}

describe('chooseNext', () => {
  it.each([
    ['the oldest of the first line', 'a1 a2 b1', '', 'a1'],
    ['those without a key are a line as any other', '-1 a1', '', '-1'],
    ['who may not have it is passed over in its own line', 'a1 a2 b1', 'a1', 'a2'],
    ['and a line of which nobody may', 'a1 a2 b1 b2', 'a1 a2 b1', 'b2'],
    ['nobody may', 'a1 b1', 'a1 b1', undefined],
    ['nobody waits', '', '', undefined],
  ])('%s', (_name, text, barred, expected) => {
    expect(chooseNext(linesOf(text), ({ name }) => !barred.split(' ').includes(name))?.name).toBe(expected)
  })
})

describe('chooseRefused', () => {
  it.each([
    ['the only key’s newcomer', 'a1 a2 a3', 'a3', 'a3'],
    ['the newest of the longest line, for another’s first', 'a1 a2 a3 b1', 'b1', 'a3'],
    ['also for another’s second', 'a1 a2 a3 b1 b2', 'b2', 'a3'],
    ['the newcomer, when it makes its own line as long', 'a1 a2 b1 b2', 'b2', 'b2'],
    ['the newcomer of the longest line', 'a1 a2 a3 b1', 'a3', 'a3'],
    ['those without a key are one', '-1 -2 -3 a1', 'a1', '-3'],
    ['with one each, the newcomer: nobody pushes out an equal', 'a1 b1', 'b1', 'b1'],
  ])('%s', (_name, text, newcomer, expected) => {
    const lines = linesOf(text)
    expect(chooseRefused(lines, find(lines, newcomer)).name).toBe(expected)
  })

  it('never makes a line shorter than the newcomer’s becomes', () => {
    const keys = fc.array(fc.constantFrom('a', 'b', 'c', '-'), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(keys, (order) => {
        const lines = linesOf(order.map((key, nth) => `${key}${nth}`).join(' '))
        const newcomer = find(lines, `${order.at(-1)}${order.length - 1}`)
        const refused = chooseRefused(lines, newcomer)
        const sizeOf = ({ key }: Named) => lines.get(key)?.size ?? 0
        if (refused === newcomer)
          expect(Math.max(...[...lines.values()].map(({ size }) => size))).toBe(sizeOf(newcomer))
        else expect(sizeOf(refused)).toBeGreaterThan(sizeOf(newcomer))
      }),
    )
  })
})

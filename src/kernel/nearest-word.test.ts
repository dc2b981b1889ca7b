import { describe, expect, it } from 'vitest'
import { selectNearest } from './nearest-word.ts'

describe('selectNearest', () => {
  it.each([
    ['a letter too few', 'prt', ['port', 'profile'], 'port'],
    ['two letters that changed places, before another word as far away', '--tmep', ['--keep', '--temp'], '--temp'],
    ['capitals', 'PORT', ['host', 'port'], 'port'],
    ['another word altogether', 'colour', ['port', 'host'], undefined],
    ['dashes are no letters: --x is far from --b', '--x', ['--b'], undefined],
    ['nothing is known', 'port', [], undefined],
  ])('%s', (_name, word, known, expected) => {
    expect(selectNearest(word, known)).toBe(expected)
  })
})

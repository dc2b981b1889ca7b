import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judgeSanity, namesParis, SANITY_SAMPLE_CHARS, showSample } from './judge-sanity.ts'

const strict = (text: string) => judgeSanity(text, 'strict').isSane
const lenient = (text: string) => judgeSanity(text, 'lenient').isSane

describe('names Paris', () => {
  it.each([
    ['as asked', ' Paris, a city on the Seine'],
    ['shouted', 'PARIS'],
    ['with a mark', 'Pâris'],
    ['full width', 'ＰＡＲＩＳ'],
    ['in the middle of thoughts', '<think>Easy: it is Paris</think>'],
    ['without spaces, as broken detokenizers write', 'ThecapitalofFranceisParis.'],
    ['with the mark of a byte-level space', 'ĠParis'],
    ['beside a comparison', 'A comparison: Paris'],
    ['Chinese', '法国的首都是巴黎。'],
    ['Japanese', 'フランスの首都はパリです'],
    ['Japanese in half width', 'ﾊﾟﾘ'],
    ['Korean', '파리입니다'],
    ['Russian', 'Париж'],
    ['Greek', 'Το Παρίσι'],
    ['Arabic', 'باريس'],
    ['Czech', 'Paříž'],
    ['Polish', 'Stolicą jest Paryż'],
    ['Italian', 'Parigi'],
  ])('%s', (_name, text) => {
    expect(namesParis(text)).toBe(true)
    expect([strict(text), lenient(text)]).toEqual([true, true])
  })

  it.each([
    ['another town', 'London'],
    ['a word around it', 'In comparison with others'],
    ['half of it', 'Par'],
    ['nothing', ''],
  ])('not: %s', (_name, text) => {
    expect(namesParis(text)).toBe(false)
    expect(strict(text)).toBe(false)
  })
})

describe('garbage', () => {
  it.each<[string, string, string]>([
    ['nothing', '', 'it said nothing'],
    ['white space', ' \n\t ', 'it said nothing'],
    ['what cannot be seen', '\u200B\uFEFF', 'it said nothing'],
    ['control characters', '\u0000\u0001ab', 'it is full of control or replacement characters'],
    ['replacement characters', '\uFFFD\uFFFD\uFFFD', 'it is full of control or replacement characters'],
    ['unassigned characters', '\u{10FFFF}\u{E000}a', 'it is full of control or replacement characters'],
    [
      'four in 32',
      `${'\uFFFD\u0001'.repeat(2)}${'word'.repeat(2)}${'noisy mumble from abc'.replaceAll(' ', '')}ab`,
      'it is full of control or replacement characters',
    ],
    ['one letter', 'GGGG', 'it is one token over and over'],
    ['one word', 'the the the the', 'it is one token over and over'],
    ['one word, cut in the middle', 'lorem lorem lorem lorem lor', 'it is one token over and over'],
    ['one word after another', 'So the the the the the', 'it is one token over and over'],
    ['one sign', '@@@@@@@@', 'it is one token over and over'],
  ])('%s', (_name, text, why) => {
    expect(judgeSanity(text, 'lenient')).toEqual({ isSane: false, why })
    expect(judgeSanity(text, 'strict')).toEqual({ isSane: false, why })
  })

  it.each([
    ['words beside the point', 'Bananas sing loudly'],
    ['one word', 'London'],
    ['a letter', 'x'],
    ['three in a row', 'haha ha'],
    ['lines', 'a\nb\r\n\tc'],
    ['a third of it broken, which is one character', 'a\uFFFDb'],
    ['a character that was cut', 'ab\uFFFD\uFFFD\uFFFDcde'],
    ['four broken in 33', `${'\uFFFD'.repeat(4)}abcdefghijklmnopqrstuvwxyzabc`],
    ['another script', '北京市'],
  ])('only strict refuses %s', (_name, text) => {
    expect(judgeSanity(text, 'strict')).toEqual({ isSane: false, why: 'it does not name Paris' })
    expect(lenient(text)).toBe(true)
  })
})

describe('whatever an engine says', () => {
  const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())

  it('what strict lets pass, lenient does too; Paris in it passes, more text changes nothing', () => {
    fc.assert(
      fc.property(anything, anything, (before, after) => {
        const text = `${before} Paris ${after}`
        expect(strict(text)).toBe(true)
        if (strict(before)) expect([lenient(before), strict(before + after)]).toEqual([true, true])
      }),
    )
  })

  it('a token over and over passes nowhere', () => {
    const token = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(token, fc.integer({ min: 4, max: 60 }), (piece, times) => {
        fc.pre(!/paris/i.test(piece.repeat(2)))
        expect(lenient(piece.repeat(times))).toBe(false)
      }),
    )
  })

  it('a sample is short, on one line, and printable', () => {
    fc.assert(
      fc.property(fc.oneof(anything, fc.string({ unit: 'binary', minLength: 100, maxLength: 300 })), (text) => {
        const shown = showSample(text)
        expect(shown.length).toBeLessThanOrEqual(SANITY_SAMPLE_CHARS)
        expect(shown).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/u)
      }),
    )
  })
})

describe('a sample', () => {
  it.each([
    ['words', 'Bananas are "blue"', 'Bananas are "blue"'],
    ['control characters', 'a\u0000\u001b[31m\n\tb', 'a\\u{0}\\u{1b}[31m\\n\\tb'],
    ['turned text', '\u202Eabc', '\\u{202e}abc'],
    ['half a character', '\uD83D', '\\u{d83d}'],
    ['just as much as fits', 'x'.repeat(120), 'x'.repeat(120)],
    ['more than fits', 'x'.repeat(121), `${'x'.repeat(119)}…`],
    ['an escape that does not fit', `${'x'.repeat(118)}\u0000`, `${'x'.repeat(118)}…`],
    ['an escape at the end makes room whole', `${'x'.repeat(115)}\u0000z`, `${'x'.repeat(115)}…`],
  ])('%s', (_name, text, shown) => {
    expect(showSample(text)).toBe(shown)
  })
})

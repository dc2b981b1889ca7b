import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitWords } from './split-words.ts'

describe('splitWords', () => {
  it.each<[string, readonly string[]]>([
    ['', []],
    [' \t\r\n ', []],
    ['a b\tc\nd', ['a', 'b', 'c', 'd']],
    [`'a b' "c d"`, ['a b', 'c d']],
    [`a'b'"c"d`, ['abcd']],
    [`'' "" a''`, ['', '', 'a']],
    ['a\\ b \\# \\\\', ['a b', '#', '\\']],
    [`'a\\n\\\\'`, ['a\\n\\\\']],
    [`"a\\n \\\\ \\" \\$ \\\` \\'"`, [`a\\n \\ " $ \` \\'`]],
    // A library lost one backslash here: it unescaped the whole word when its last quote closed.
    [`'\\\\'"x"`, ['\\\\x']],
    ['a #b c', ['a', '#b', 'c']],
    ["$HOME ~ * ; | > `x` $(y) $'z'", ['$HOME', '~', '*', ';', '|', '>', '`x`', '$(y)', '$z']],
    ['a\\\nb "c\\\nd" \'e\\\nf\'', ['ab', 'cd', 'e\\\nf']],
    [`--x '{"a": "b\\nc"}'`, ['--x', '{"a": "b\\nc"}']],
    [`'can'"'"'t'`, [`can't`]],
  ])('%j', (text, words) => {
    expect(splitWords(text)).toEqual({ ok: true, value: words })
  })

  it.each([
    [`a 'b`, "the quote ' at line 1, column 3 is not closed"],
    [`a\nbc "d'`, 'the quote " at line 2, column 4 is not closed'],
    ['a "b\\"', 'the quote " at line 1, column 3 is not closed'],
    ['a\\', 'the backslash at line 1, column 2 has nothing to escape'],
  ])('refuses %j', (text, error) => {
    expect(splitWords(text)).toEqual({ ok: false, error })
  })

  it('gives back what was quoted, whatever it is', () => {
    const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`
    const doubled = (word: string) => `"${word.replaceAll(/[\\"$`]/g, '\\$&')}"`
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.boolean())), (words) => {
        const text = words.map(([word, isSingle]) => (isSingle ? quoted(word) : doubled(word))).join(' \n')
        expect(splitWords(text)).toEqual({ ok: true, value: words.map(([word]) => word) })
      }),
    )
  })
})

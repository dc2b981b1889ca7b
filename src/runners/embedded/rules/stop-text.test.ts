import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StopTextFilter } from './stop-text.ts'

function run(pieces: readonly string[], stops: readonly string[]): { text: string; stoppedBy: string | undefined } {
  const filter = new StopTextFilter(stops)
  let text = ''
  for (const piece of pieces) {
    const step = filter.push(piece)
    text += step.text
    if (step.stoppedBy !== undefined) return { text, stoppedBy: step.stoppedBy }
  }
  return { text: text + filter.end(), stoppedBy: undefined }
}

describe('StopTextFilter', () => {
  it.each([
    ['nothing to stop at', ['a', 'b'], [], 'ab', undefined],
    ['a stop text in one piece', ['one END two'], ['END'], 'one ', 'END'],
    ['a stop text over pieces', ['one E', 'N', 'D two'], ['END'], 'one ', 'END'],
    ['a false beginning', ['one E', 'NX'], ['END'], 'one ENX', undefined],
    ['a beginning at the end', ['one EN'], ['END'], 'one EN', undefined],
    ['a beginning within a beginning', ['aab', 'x'], ['aabx', 'abc'], '', 'aabx'],
    ['the first of two', ['x B A'], ['A', 'B'], 'x ', 'B'],
  ] as const)('%s', (_what, pieces, stops, text, stoppedBy) => {
    expect(run(pieces, stops)).toEqual({ text, stoppedBy })
  })

  it('does not depend on how the text is cut into pieces', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c') })
    const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }), {
      maxLength: 3,
    })
    fc.assert(
      fc.property(fc.array(letters), stops, (pieces, stopTexts) => {
        const whole = pieces.join('')
        const first = Math.min(...stopTexts.map((stop) => whole.indexOf(stop)).filter((at) => at !== -1))
        const result = run(pieces, stopTexts)
        // Cut finer or coarser, an answer ends before the stop text that is complete first.
        if (first === Number.POSITIVE_INFINITY) expect(result).toEqual({ text: whole, stoppedBy: undefined })
        else expect(whole.startsWith(result.text + (result.stoppedBy ?? '?'))).toBe(true)
      }),
    )
  })
})

import { InvalidArgumentError } from 'commander'

/** The highest port there is. */
export const MAX_PORT = 65_535

/** For commander: a whole number from `low` to `high`. Throws what commander tells as wrong usage. */
export function wholeNumber(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low && value <= high) return value
    const range = high === Number.MAX_SAFE_INTEGER ? `from ${low} on` : `from ${low} to ${high}`
    throw new InvalidArgumentError(`Expected a whole number ${range}.`)
  }
}

/** As `wholeNumber`; "" = null, which clears the key. */
export function numberOrNothing(low: number, high: number): (text: string) => number | null {
  const parse = wholeNumber(low, high)
  return (text) => (text === '' ? null : parse(text))
}

/** `on` or `off`; "" = null, which clears the key. */
export function onOff(text: string): boolean | null {
  if (text === '') return null
  if (text === 'on' || text === 'off') return text === 'on'
  throw new InvalidArgumentError('Expected on or off.')
}

/** An option that may be given several times. */
export function collect(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text]
}

/** As `collect`, of certain words; blanks in them may stand for their underscores. Throws what commander tells as wrong usage. */
export function collectOf<Word extends string>(
  words: readonly Word[],
): (text: string, before: readonly Word[] | undefined) => readonly Word[] {
  return (text, before) => {
    const word = words.find((one) => one === text.trim().toLowerCase().replaceAll(/[ -]/g, '_'))
    if (word === undefined) throw new InvalidArgumentError(`Expected one of ${words.join(', ')}.`)
    return [...(before ?? []), word]
  }
}

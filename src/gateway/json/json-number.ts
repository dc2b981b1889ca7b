import { DOT, isDigit, MINUS, PLUS, ZERO } from '../rules/json-bytes.ts'

/** States inside a number, numbered above the scanner's own. Source: RFC 8259 section 6. */
export const NUM_SIGN = 10
export const NUM_ZERO = 11
export const NUM_INT = 12
const NUM_DOT = 13
const NUM_FRAC = 14
const NUM_E = 15
const NUM_ESIGN = 16
const NUM_EXP = 17

/** May a number end in this state? */
export function isNumberEnd(state: number): boolean {
  return state === NUM_ZERO || state === NUM_INT || state === NUM_FRAC || state === NUM_EXP
}

/** RFC 8259 section 6 as a table; undefined = the byte does not go on with the number. */
export function nextNumberState(state: number, byte: number): number | undefined {
  const digit = isDigit(byte)
  const exponent = byte === 0x65 || byte === 0x45
  if (state === NUM_SIGN) return digit ? (byte === ZERO ? NUM_ZERO : NUM_INT) : undefined
  if (state === NUM_ZERO || state === NUM_INT) {
    if (digit) return state === NUM_INT ? NUM_INT : undefined
    return byte === DOT ? NUM_DOT : exponent ? NUM_E : undefined
  }
  if (state === NUM_DOT) return digit ? NUM_FRAC : undefined
  if (state === NUM_FRAC) return digit ? NUM_FRAC : exponent ? NUM_E : undefined
  if (state === NUM_E) return digit ? NUM_EXP : byte === PLUS || byte === MINUS ? NUM_ESIGN : undefined
  return digit ? NUM_EXP : undefined
}

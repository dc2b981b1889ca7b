import { randomBytes } from 'node:crypto'

/** Without i, l, o and u, which are taken for others. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const LENGTH = 8

/** Short enough to type, too many to guess: a letter for what it is, and eight more. */
export function newReservationId(kind: 'r' | 's'): string {
  return kind + Array.from(randomBytes(LENGTH), (byte) => LETTERS.charAt(byte % LETTERS.length)).join('')
}

import { expect, it } from 'vitest'
import { reservationChangeSchema, reservationRequestSchema } from './reservation.ts'

// Both said it in the words of the schema's library once.
it.each([
  ['too many members', Array.from({ length: 101 }, (_, nth) => `user${nth}`), ['expected 100 names or less']],
  ['a member without a name', [''], ['expected the name of a user']],
  ['as many as may be', Array.from({ length: 100 }, (_, nth) => `user${nth}`), []],
])('%s', (_what, members, expected) => {
  const wish = { lane: 'gpu0', start: '2026-12-01T18:00:00Z', minutes: 10, members }
  for (const read of [reservationRequestSchema.safeParse(wish), reservationChangeSchema.safeParse({ members })]) {
    expect(read.success ? [] : read.error.issues.map(({ message }) => message)).toEqual(expected)
  }
})

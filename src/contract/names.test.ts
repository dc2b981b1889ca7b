import { describe, expect, it } from 'vitest'
import { reservationRequestSchema } from './reservation.ts'
import { keyRequestSchema } from './user.ts'

describe('text that people read in lines', () => {
  it.each([
    ['plain', 'Training run', true],
    ['other scripts', '夜间训练 🚀 ночь', true],
    ['a line break', 'a\r\nBcc: x@example.org', false],
    ['NUL', 'a\u0000b', false],
    ['an escape', '\u001b[2J', false],
    ['turned direction', 'a\u202egpj.exe', false],
    ['an isolate', 'a\u2066b', false],
  ])('%s', (_name, text, isFine) => {
    const booking = { lane: 'gpu0', start: '2026-12-01T10:00', minutes: 60, title: text }
    expect(reservationRequestSchema.safeParse(booking).success).toBe(isFine)
    expect(keyRequestSchema.safeParse({ name: text }).success).toBe(isFine)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainEnd } from './text-run.ts'

/** RFC 8259 section 7, byte by byte. */
function naiveEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return at
  }
  return bytes.length
}

/** Bytes that lie at any place in memory. */
function placed(bytes: Uint8Array, shift: number): Uint8Array {
  const room = new Uint8Array(bytes.length + shift)
  room.set(bytes, shift)
  return room.subarray(shift)
}

describe('plainEnd', () => {
  it('finds every byte that is not plain, and none that is, in long runs', () => {
    for (let byte = 0; byte < 256; byte++) {
      const bytes = new Uint8Array(700).fill(0x41)
      bytes[523] = byte
      expect(plainEnd(bytes, 1)).toBe(naiveEnd(bytes, 1))
    }
  })

  it.each([0, 1, 2, 3])('finds it wherever it stands (memory shifted by %i)', (shift) => {
    for (const byte of [0x22, 0x5c, 0x00, 0x1f]) {
      for (let at = 0; at < 420; at++) {
        const bytes = placed(new Uint8Array(421).fill(0xc3), shift)
        bytes[at] = byte
        expect(plainEnd(bytes, 0)).toBe(at)
        expect(plainEnd(bytes, at)).toBe(at)
        expect(plainEnd(bytes, at + 1)).toBe(421)
      }
    }
  })

  it('agrees with the rule on any bytes', () => {
    const mostlyPlain = fc.oneof(
      { weight: 400, arbitrary: fc.constantFrom(0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff, 0x9f) },
      { weight: 1, arbitrary: fc.nat(255) },
    )
    const bytesOf = fc.array(mostlyPlain, { minLength: 150, maxLength: 600, size: 'max' })
    fc.assert(
      fc.property(bytesOf, fc.nat(3), fc.nat(40), (list, shift, from) => {
        const bytes = placed(Uint8Array.from(list), shift)
        expect(plainEnd(bytes, from)).toBe(naiveEnd(bytes, from))
      }),
      { numRuns: 1000 },
    )
  })
})

import { expect, it } from 'vitest'
import { GrowingBuffer } from './growing-buffer.ts'

const KIB = 1024

it('holds the only piece as it is, and nothing at all when nothing came', () => {
  const buffer = new GrowingBuffer(undefined)
  expect(buffer.view()).toHaveLength(0)
  const piece = Buffer.from('abc')
  buffer.push(piece)
  expect(buffer.view()).toBe(piece)
})

it.each([undefined, 300_000, 10])('puts pieces of any size together (announced: %s)', (announced) => {
  const buffer = new GrowingBuffer(announced)
  const pieces = [1, 7, 70_000, 1, 129_991, 100_000].map((size, n) => Buffer.alloc(size, 97 + n))
  for (const piece of pieces) buffer.push(piece)
  expect(buffer.sizeBytes).toBe(300_000)
  expect(buffer.view().equals(Buffer.concat(pieces))).toBe(true)
})

it('takes what is needed, at most twice of it, and no more than was announced', () => {
  const roomOf = (announced: number | undefined, pieces: number) => {
    const buffer = new GrowingBuffer(announced)
    for (let n = 0; n < pieces; n++) buffer.push(Buffer.alloc(KIB))
    return buffer.view().buffer.byteLength
  }
  expect(roomOf(64 * KIB * KIB, 2)).toBe(64 * KIB)
  expect(roomOf(undefined, 65)).toBe(128 * KIB)
  expect(roomOf(70 * KIB, 65)).toBe(70 * KIB)
  expect(roomOf(undefined, 1000)).toBeLessThanOrEqual(2 * 1000 * KIB)
})

import { expect, it } from 'vitest'
import { PieceList } from './piece-list.ts'

const KIB = 1024

it('holds the only piece as it is, and nothing at all when nothing came', () => {
  const list = new PieceList()
  expect(list.pieces()).toEqual([])
  const piece = Buffer.from('abc')
  list.push(piece)
  expect(list.pieces()[0]).toBe(piece)
})

it('keeps pieces of any size in order; large ones are not copied', () => {
  const pieces = [1, 7, 70_000, 1, 1, 8 * KIB, 129_991, 0, 3, 65_000, 5_000, 5_000].map((size, n) =>
    Buffer.alloc(size, 97 + n),
  )
  const list = new PieceList()
  for (const piece of pieces) list.push(piece)
  const whole = Buffer.concat(pieces)
  expect(list.sizeBytes).toBe(whole.length)
  expect(Buffer.concat(list.pieces()).equals(whole)).toBe(true)
  expect(list.pieces()).toContain(pieces[2])
  for (const head of [0, 1, 9, 70_009, whole.length + 1])
    expect(list.head(head).equals(whole.subarray(0, head))).toBe(true)
})

it('memory is little more than the bytes, however small the pieces', () => {
  const list = new PieceList()
  for (let n = 0; n < 200_000; n++) list.push(Buffer.from('x'))
  const room = new Set(list.pieces().map((piece) => piece.buffer))
  expect(room.size).toBeLessThan(10)
  expect([...room].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(300_000)
})

it('a block that is hardly begun is not held for one byte between large pieces', () => {
  const list = new PieceList()
  list.push(Buffer.alloc(10_000))
  for (let n = 0; n < 100; n++) {
    list.push(Buffer.alloc(1))
    list.push(Buffer.alloc(10_000))
  }
  const room = new Set(list.pieces().map((piece) => piece.buffer))
  expect([...room].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(1_100_000)
})

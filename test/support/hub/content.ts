import { createHash } from 'node:crypto'

const BLOCK_BYTES = 1024 * 1024

/**
 * What a file of the stand-in hub consists of: bytes made by offset, so that 300 MB need no memory, or given ones. `head`: what made
 * content begins with, for example the header of a model.
 */
export type Content =
  | { readonly sizeBytes: number; readonly seed: number; readonly head?: Buffer }
  | { readonly bytes: Buffer }

export function sizeOf(content: Content): number {
  return 'bytes' in content ? content.bytes.length : content.sizeBytes
}

/** The bytes from `from` (inclusive) to `to` (exclusive), in pieces of at most 1 MiB; past the end of made content it goes on. */
export function* readContent(content: Content, from: number, to: number): Generator<Buffer> {
  if ('bytes' in content) {
    if (from < to) yield content.bytes.subarray(from, to)
    return
  }
  const head = content.head?.subarray(from, to) ?? Buffer.alloc(0)
  if (head.length > 0) yield head
  for (let at = from + head.length; at < to; ) {
    const block = Math.floor(at / BLOCK_BYTES)
    const offset = at - block * BLOCK_BYTES
    const length = Math.min(BLOCK_BYTES - offset, to - at)
    yield blockOf(content.seed, block).subarray(offset, offset + length)
    at += length
  }
}

export function sha256Of(content: Content): string {
  const hash = createHash('sha256')
  for (const piece of readContent(content, 0, sizeOf(content))) hash.update(piece)
  return hash.digest('hex')
}

const bases = new Map<number, Buffer>()

/** One base block per seed, and the number of the block over its first bytes: no two blocks are the same. */
function blockOf(seed: number, block: number): Buffer {
  const base = bases.get(seed) ?? makeBase(seed)
  bases.set(seed, base)
  const copy = Buffer.from(base)
  copy.writeDoubleLE(block, 8)
  return copy
}

/** xorshift32: the same in every run. */
function makeBase(seed: number): Buffer {
  const base = Buffer.alloc(BLOCK_BYTES)
  let state = (seed * 2_654_435_761 + 1) >>> 0 || 1
  for (let at = 0; at < BLOCK_BYTES; at += 4) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    base.writeInt32LE(state | 0, at)
  }
  return base
}

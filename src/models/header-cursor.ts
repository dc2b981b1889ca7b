import type { FileHandle } from 'node:fs/promises'

/** What the daemon walks between two looks at everything else it has to do: less than 2 ms of work, also when all of it is empty strings. */
const CHUNK_BYTES = 256 * 1024

/**
 * Reads per header, so 64 MiB at most. A vocabulary of 260,000 tokens with its merges takes about 12 MiB; what needs more than five times
 * that is not a header.
 */
export const MAX_READS = 256

/** The header is not what it claims to be; `message` completes "the header …". */
export class HeaderDamage extends Error {}

/** The header is longer than anyone should read; what was read so far holds. */
export class HeaderTooLong extends HeaderDamage {}

/**
 * Walks a file forwards, one chunk in memory at a time; what is skipped is not read. Reading a chunk waits for the disk, and so lets the event
 * loop turn. Errors: HeaderDamage when it would leave the file or needs too many reads; the system's own when reading fails.
 */
export class HeaderCursor {
  readonly #handle: FileHandle
  readonly #sizeBytes: number
  readonly #chunk = Buffer.alloc(CHUNK_BYTES)
  /** The part of the file in `#chunk`: `#start` to `#end`, half-open. */
  #start = 0
  #end = 0
  #at: number
  #reads = 0
  #readBytes = 0

  constructor(handle: FileHandle, sizeBytes: number, at: number) {
    this.#handle = handle
    this.#sizeBytes = sizeBytes
    this.#at = at
  }

  /** Bytes from here to the end of the file. */
  get left(): number {
    return this.#sizeBytes - this.#at
  }

  /** Bytes from the start of the file to here. */
  get at(): number {
    return this.#at
  }

  get reads(): number {
    return this.#reads
  }

  get readBytes(): number {
    return this.#readBytes
  }

  /** Can `bytes` be taken without waiting? */
  has(bytes: number): boolean {
    return this.#at >= this.#start && this.#at + bytes <= this.#end
  }

  /** Makes the next `bytes` (at most a chunk) available. */
  async fetch(bytes: number): Promise<void> {
    if (this.has(bytes)) return
    if (bytes > this.left) throw new HeaderDamage('ends before it is complete')
    this.#start = this.#at
    this.#end = this.#at
    while (!this.has(bytes)) {
      if (this.#reads >= MAX_READS) throw new HeaderTooLong(`is longer than ${MAX_READS} reads of ${CHUNK_BYTES} bytes`)
      this.#reads++
      const filled = this.#end - this.#start
      const { bytesRead } = await this.#handle.read(this.#chunk, filled, CHUNK_BYTES - filled, this.#end)
      // The file shrank while it was read.
      if (bytesRead === 0) throw new HeaderDamage('ends before it is complete')
      this.#end += bytesRead
      this.#readBytes += bytesRead
    }
  }

  /** Passes over `bytes`, by arithmetic alone. */
  skip(bytes: number): void {
    if (bytes > this.left) throw new HeaderDamage(`names ${bytes} bytes where the file has ${this.left} left`)
    this.#at += bytes
  }

  /** The next `bytes`, valid until the next `fetch`. They must have been fetched. */
  take(bytes: number): Buffer {
    const from = this.#at - this.#start
    this.#at += bytes
    return this.#chunk.subarray(from, from + bytes)
  }

  takeU32(): number {
    return this.take(4).readUInt32LE(0)
  }

  /** Beyond 2^53 the nearest number that JavaScript has. */
  takeU64(): number {
    const from = this.#at - this.#start
    this.#at += 8
    return this.#chunk.readUInt32LE(from + 4) * 2 ** 32 + this.#chunk.readUInt32LE(from)
  }

  /** A count or length. Nothing that is counted takes less than a byte, so more than the rest of the file is damage. */
  takeCount(): number {
    const count = this.takeU64()
    if (count > this.left)
      throw new HeaderDamage(`counts ${count} of something where the file has ${this.left} bytes left`)
    return count
  }
}

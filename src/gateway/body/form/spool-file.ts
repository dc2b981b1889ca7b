import { randomUUID } from 'node:crypto'
import { close, mkdirSync, openSync, read, unlinkSync, write } from 'node:fs'
import { join } from 'node:path'

/** For its owner alone: it holds what people said. */
const FILE_MODE = 0o600
const READ_BYTES = 64 * 1024

/**
 * A temporary file that nobody sees: its name is gone before anything is in it, so that it vanishes with the daemon at the latest. One thing at a
 * time is done with it.
 */
export class SpoolFile {
  readonly #fd: number
  #sizeBytes = 0
  #readBytes = 0
  #isBusy = false
  #isClosed = false

  /** `folder` is made where it is missing. Throws what the file system says. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    const path = join(folder, `hal0-form-${randomUUID()}`)
    this.#fd = openSync(path, 'wx+', FILE_MODE)
    unlinkSync(path)
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Puts the bytes behind the others. Calls back later, unless it was closed meanwhile. */
  append(bytes: Buffer, done: (error: Error | undefined) => void): void {
    this.#begin()
    write(this.#fd, bytes, 0, bytes.length, this.#sizeBytes, (error, writtenBytes) => {
      if (this.#ends()) return
      if (error !== null) return done(error)
      this.#sizeBytes += writtenBytes
      if (writtenBytes === bytes.length) return done(undefined)
      this.append(bytes.subarray(writtenBytes), done)
    })
  }

  /** The next bytes from the start on; empty = that was all. Calls back later, unless it was closed meanwhile. */
  next(done: (error: Error | undefined, bytes: Buffer) => void): void {
    const wanted = Math.min(READ_BYTES, this.#sizeBytes - this.#readBytes)
    const into = Buffer.allocUnsafe(wanted)
    this.#begin()
    read(this.#fd, into, 0, wanted, this.#readBytes, (error, gotBytes) => {
      if (this.#ends()) return
      if (error !== null) return done(error, into.subarray(0, 0))
      if (gotBytes === 0 && wanted > 0) return done(new Error('a temporary file became shorter'), into.subarray(0, 0))
      this.#readBytes += gotBytes
      done(undefined, into.subarray(0, gotBytes))
    })
  }

  /** Gives the disk its room back. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // The number of a file that is still worked on must not become another file's.
    if (!this.#isBusy) close(this.#fd, () => {})
  }

  #begin(): void {
    if (this.#isBusy || this.#isClosed) throw new Error('a temporary file is used out of turn')
    this.#isBusy = true
  }

  /** Was it closed meanwhile? */
  #ends(): boolean {
    this.#isBusy = false
    if (this.#isClosed) close(this.#fd, () => {})
    return this.#isClosed
  }
}

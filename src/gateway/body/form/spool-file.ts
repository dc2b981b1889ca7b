import { randomUUID } from 'node:crypto'
import { close, mkdir, open, read, unlink, write } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../../../kernel/errors.ts'

/** For its owner alone: it holds what people said. */
const FILE_MODE = 0o600
const READ_BYTES = 64 * 1024

type Done = (error: Error | undefined) => void

/**
 * A temporary file that nobody sees: its name is gone before anything is in it, so that it vanishes with the daemon at the latest. One thing at a
 * time is done with it.
 */
export class SpoolFile {
  readonly #folder: string
  /** Undefined = it is not open yet. */
  #fd: number | undefined
  #sizeBytes = 0
  #readBytes = 0
  #isBusy = false
  #isClosed = false

  /** Made with the first `append`; `folder` too where it is missing. */
  constructor(folder: string) {
    this.#folder = folder
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Puts the bytes behind the others. Calls back later with what the file system says, unless it was closed meanwhile. */
  append(bytes: Buffer, done: Done): void {
    this.#begin()
    if (this.#fd !== undefined) return this.#write(this.#fd, bytes, done)
    const opened = (fd: number): void => (this.#isClosed ? void this.#ends() : this.#write(fd, bytes, done))
    this.#open(opened, (error) => {
      if (!this.#ends()) done(error)
    })
  }

  /** The next bytes from the start on; empty = that was all. Calls back later, unless it was closed meanwhile. */
  next(done: (error: Error | undefined, bytes: Buffer) => void): void {
    const wanted = Math.min(READ_BYTES, this.#sizeBytes - this.#readBytes)
    const into = Buffer.allocUnsafe(wanted)
    this.#begin()
    if (this.#fd === undefined) throw new Error('a temporary file is read before anything is in it')
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
    if (!this.#isBusy) this.#closeFile()
  }

  /** Whatever happens meanwhile, the name goes again. */
  #open(opened: (fd: number) => void, failed: (error: Error) => void, mayMakeFolder = true): void {
    const path = join(this.#folder, `hal0-form-${randomUUID()}`)
    open(path, 'wx+', FILE_MODE, (error, fd) => {
      if (error !== null) {
        if (!mayMakeFolder || errnoOf(error) !== 'ENOENT') return failed(error)
        return mkdir(this.#folder, { recursive: true }, (noFolder) =>
          noFolder === null ? this.#open(opened, failed, false) : failed(noFolder),
        )
      }
      this.#fd = fd
      unlink(path, (unlinkError) => (unlinkError === null ? opened(fd) : failed(unlinkError)))
    })
  }

  #write(fd: number, bytes: Buffer, done: Done): void {
    write(fd, bytes, 0, bytes.length, this.#sizeBytes, (error, writtenBytes) => {
      if (this.#ends()) return
      if (error !== null) return done(error)
      this.#sizeBytes += writtenBytes
      if (writtenBytes === bytes.length) return done(undefined)
      this.append(bytes.subarray(writtenBytes), done)
    })
  }

  #begin(): void {
    if (this.#isBusy || this.#isClosed) throw new Error('a temporary file is used out of turn')
    this.#isBusy = true
  }

  /** Was it closed meanwhile? */
  #ends(): boolean {
    this.#isBusy = false
    if (this.#isClosed) this.#closeFile()
    return this.#isClosed
  }

  #closeFile(): void {
    if (this.#fd !== undefined) close(this.#fd, () => {})
    this.#fd = undefined
  }
}

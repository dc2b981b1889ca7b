import { close, openSync, write } from 'node:fs'

/** What waits for the disk at most; beyond it lines are dropped rather than memory filled. */
const MAX_WAITING_BYTES = 1024 * 1024

const NEWLINE = 0x0a

/** A text file that lines are appended to, without ever holding up or ending the process that has something to say. */
export interface AppendFile {
  /** Appends soon. Lines that cannot be written (full disk) are dropped and counted; it goes on when the disk is free again. */
  write(text: string): void
  /** How many lines were dropped so far. */
  readonly dropped: number
  /** Tries once to write what waits, then closes; resolves when that is over. */
  close(): Promise<void>
}

/** Opens for appending, mode 0600; the folder exists. Errors: the system's own (no right, a folder in its place). */
export function openAppendFile(path: string): AppendFile {
  const fd = openSync(path, 'a', 0o600)
  let waiting: string[] = []
  let waitingBytes = 0
  let isWriting = false
  let dropped = 0
  /** The file ends in half a line: the next one begins on a line of its own. */
  let endsBroken = false

  let onClosed: (() => void) | undefined
  let isClosed = false

  function flush(): void {
    if (isWriting) return
    if (waiting.length === 0) {
      if (onClosed === undefined || isClosed) return
      isClosed = true
      return close(fd, onClosed)
    }
    isWriting = true
    const bytes = Buffer.from((endsBroken ? '\n' : '') + waiting.join(''))
    waiting = []
    waitingBytes = 0
    writeAll(bytes)
  }

  /** A disk that fills up takes a part: the rest is tried once more, and is lost when that fails. */
  function writeAll(bytes: Buffer): void {
    write(fd, bytes, (error, written) => {
      const rest = bytes.subarray(error === null ? written : 0)
      if (written > 0) endsBroken = bytes[written - 1] !== NEWLINE
      if (error === null && written > 0 && rest.length > 0) return writeAll(rest)
      if (rest.length > 0) dropped += rest.filter((byte) => byte === NEWLINE).length
      isWriting = false
      flush()
    })
  }

  return {
    get dropped() {
      return dropped
    },
    write: (text) => {
      if (onClosed !== undefined || waitingBytes + text.length > MAX_WAITING_BYTES) {
        dropped++
        return
      }
      waiting.push(text)
      waitingBytes += text.length
      // One write for all lines of a turn.
      if (waiting.length === 1) setImmediate(flush)
    },
    close: () =>
      new Promise((resolve) => {
        if (onClosed !== undefined) return resolve()
        onClosed = resolve
        flush()
      }),
  }
}

import { close, openSync, write } from 'node:fs'

/** What waits for the disk at most; beyond it lines are dropped rather than memory filled. */
const MAX_WAITING_BYTES = 1024 * 1024

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
    const lines = waiting.length
    const bytes = Buffer.from(waiting.join(''))
    waiting = []
    waitingBytes = 0
    write(fd, bytes, (error) => {
      isWriting = false
      if (error !== null) dropped += lines
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

/** A line longer than this is cut, so that output without line ends cannot grow in memory. */
export const MAX_LINE_BYTES = 64 * 1024
const NEWLINE = 10

export interface LineSplitter {
  /** Bytes as they come, cut anywhere; the lines that are complete now, without their ends. */
  push(bytes: Uint8Array): string[]
  /** What is there of a line that has not ended; afterwards nothing is. Undefined = nothing was. */
  flush(): string | undefined
}

/** Splits at `\n` in bytes, so that no character is ever cut (but at MAX_LINE_BYTES). */
export function createLineSplitter(): LineSplitter {
  let rest = Buffer.alloc(0)

  function textOf(bytes: Buffer): string {
    return bytes.toString('utf8').replace(/\r$/, '')
  }

  return {
    push(bytes) {
      const lines: string[] = []
      let buffer = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes])
      for (let end = buffer.indexOf(NEWLINE); end !== -1 || buffer.length > MAX_LINE_BYTES; ) {
        const cut = end === -1 || end > MAX_LINE_BYTES
        lines.push(textOf(buffer.subarray(0, cut ? MAX_LINE_BYTES : end)))
        buffer = buffer.subarray(cut ? MAX_LINE_BYTES : end + 1)
        end = buffer.indexOf(NEWLINE)
      }
      // A copy: a view would keep the whole chunk alive.
      rest = Buffer.from(buffer)
      return lines
    },
    flush() {
      if (rest.length === 0) return undefined
      const line = textOf(rest)
      rest = Buffer.alloc(0)
      return line
    },
  }
}

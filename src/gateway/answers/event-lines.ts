import { COLON, CR, LF } from '../rules/json-bytes.ts'

/** How a line of data begins; the JSON stands behind it. */
export const DATA_MARK = 'data:'
const [D, A, T] = [0x64, 0x61, 0x74]

/** Does a line of data begin here? */
export function isDataAt(lines: Buffer, at: number): boolean {
  return lines[at] === D && lines[at + 1] === A && lines[at + 2] === T && lines[at + 3] === A && lines[at + 4] === COLON
}

/** Just behind the line that begins at `start`, its LF included; without one it ends with the bytes. */
export function endOfLine(lines: Buffer, start: number): number {
  const lf = lines.indexOf(LF, start)
  return lf < 0 ? lines.length : lf + 1
}

/** Where the text of the line `start` to `lineEnd` ends: before its LF or CRLF. */
export function endOfText(lines: Buffer, start: number, lineEnd: number): number {
  let end = lineEnd
  if (end > start && lines[end - 1] === LF) end--
  if (end > start && lines[end - 1] === CR) end--
  return end
}

/** Just behind the last LF; 0 = there is none. */
export function endOfLastLine(bytes: Buffer): number {
  return bytes[bytes.length - 1] === LF ? bytes.length : bytes.lastIndexOf(LF) + 1
}

/** Just behind the last blank line; 0 = there is none. The bytes begin where a line does. */
export function endOfLastEvent(bytes: Buffer): number {
  let lineEnd = endOfLastLine(bytes)
  while (lineEnd > 0) {
    const lf = lineEnd - 1
    const end = lf > 0 && bytes[lf - 1] === CR ? lf - 1 : lf
    if (end === 0 || bytes[end - 1] === LF) return lineEnd
    lineEnd = bytes.lastIndexOf(LF, end - 1) + 1
  }
  return 0
}

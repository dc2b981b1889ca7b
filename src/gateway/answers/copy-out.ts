/** Pieces below this are copied into node's own pool. */
const SMALL_BYTES = 4 * 1024
/** The most that comes in one read. */
const PIECE_BYTES = 64 * 1024

/** Used again and again as long as the kernel takes at once what is written: a stream at full speed then leaves no garbage. */
let spare: Buffer | undefined

/** A copy to be written, of bytes that are valid for this turn only. Give it back to `copyWritten`. */
export function copyOut(bytes: Buffer): Buffer {
  const { length } = bytes
  if (length < SMALL_BYTES || length > PIECE_BYTES) return Buffer.from(bytes)
  const room = spare ?? Buffer.allocUnsafeSlow(PIECE_BYTES)
  spare = undefined
  bytes.copy(room)
  return room.subarray(0, length)
}

/** The kernel has taken all of it: nobody reads it any more. */
export function copyWritten(copy: Buffer): void {
  if (copy.buffer.byteLength === PIECE_BYTES && copy.byteOffset === 0) spare = Buffer.from(copy.buffer)
}

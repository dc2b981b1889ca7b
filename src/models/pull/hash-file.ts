import type { Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { MIB } from '../../kernel/units.ts'

/** Feeds the first `sizeBytes` of a file to a hash, piece by piece, so that others get their turn. Rejects with the signal's reason. */
export async function hashInto(hash: Hash, handle: FileHandle, sizeBytes: number, signal: AbortSignal): Promise<void> {
  const buffer = Buffer.allocUnsafe(MIB)
  for (let at = 0; at < sizeBytes; ) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, sizeBytes - at), at)
    if (bytesRead === 0) throw new Error(`the file ends at byte ${at}, expected ${sizeBytes}`)
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

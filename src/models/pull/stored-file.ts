import { createHash } from 'node:crypto'
import { constants, lstat, open } from 'node:fs/promises'
import { hashInto } from './hash-file.ts'
import type { HubFile } from './rules/hub-file.ts'

/** A file of a model under its final name. */
export interface StoredFile {
  readonly sizeBytes: number
  /** Computed by us. */
  readonly sha256: string
}

/** Does the final name look like the file already, by its size? */
export async function looksStored(target: string, file: HubFile): Promise<boolean> {
  const stats = await lstat(target).catch(() => undefined)
  return stats !== undefined && stats.isFile() && stats.size === file.sizeBytes
}

/**
 * Is the file under its final name already: by an earlier pull, or as a copy? Without a checksum of the hub its size has to do.
 * Undefined = it is not. Rejects with the signal's reason, and when it cannot be read to its end.
 */
export async function verifyExisting(
  target: string,
  file: HubFile,
  signal: AbortSignal,
): Promise<StoredFile | undefined> {
  if (!(await looksStored(target, file))) return undefined
  const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const hash = createHash('sha256')
    await hashInto(hash, handle, file.sizeBytes, signal)
    const sha256 = hash.digest('hex')
    return file.sha256 === null || sha256 === file.sha256 ? { sizeBytes: file.sizeBytes, sha256 } : undefined
  } finally {
    await handle.close()
  }
}

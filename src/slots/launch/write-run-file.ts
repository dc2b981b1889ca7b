import { dirname } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { makeFolder } from '../../files/make-folder.ts'

/**
 * Replaces a private file (0600) that means nothing once the machine is off: whole or not at all for every reader, but a power cut may lose it. A
 * start waits for it, and a disk's sync takes longer than many an engine's end. Writes to one path keep their order. Errors: the system's own.
 */
export async function writeRunFile(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path))
  await writeFileAtomic(path, text, { mode: 0o600, fsync: false })
}

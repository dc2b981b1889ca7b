import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { makeFolder } from './make-folder.ts'

/**
 * Replaces a file whole: temp file, fsync, rename, fsync of the folder. A reader sees the old text or the new one, also after
 * a power cut. Makes the folder. `mode` applies to a new and to an existing file.
 */
export async function writeFileWhole(path: string, text: string, mode = 0o644): Promise<void> {
  const folder = dirname(path)
  await makeFolder(folder)
  await writeFileAtomic(path, text, { mode, fsync: true })
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

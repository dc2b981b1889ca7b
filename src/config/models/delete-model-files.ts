import { realpath, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { realOrSame } from '../../files/real-or-same.ts'

/** What was deleted, by the names that the row has. */
export interface DeletedFiles {
  readonly deleted: readonly string[]
  readonly freedBytes: number
}

/**
 * Deletes those of `files` that lie in the store (links followed: what a link in the store points to elsewhere is not in it) and that
 * are none of `needed`; then the folders of the store that this leaves empty. Errors: those of the disk.
 */
export async function deleteModelFiles(
  store: string,
  files: readonly string[],
  needed: readonly string[],
): Promise<DeletedFiles> {
  const root = await realpath(store).catch(() => undefined)
  if (root === undefined) return { deleted: [], freedBytes: 0 }
  const others = new Set(await Promise.all(needed.map(realOrSame)))
  const deleted: string[] = []
  let freedBytes = 0
  for (const file of new Set(files)) {
    const real = await realpath(file).catch(() => undefined)
    if (real === undefined || !real.startsWith(root + sep) || others.has(real)) continue
    const facts = await stat(real)
    if (!facts.isFile()) continue
    await unlink(real)
    // The name in the row may be a link to it, in the store or not; one outside is not ours.
    const name = await realpath(dirname(file)).catch(() => '')
    if (file !== real && `${name}${sep}`.startsWith(root + sep)) await unlink(file).catch(() => undefined)
    freedBytes += facts.nlink > 1 ? 0 : facts.size
    deleted.push(file)
    await removeEmptyFolders(dirname(real), root)
  }
  return { deleted, freedBytes }
}

async function removeEmptyFolders(from: string, root: string): Promise<void> {
  for (let folder = from; folder.startsWith(root + sep); folder = dirname(folder)) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      () => false,
    )
    if (!isRemoved) return
  }
}

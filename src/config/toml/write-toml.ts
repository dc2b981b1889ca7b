import { constants, copyFile } from 'node:fs/promises'
import { writeFileWhole } from '../../files/atomic-write.ts'
import { errnoOf } from '../../kernel/errors.ts'
import { editToml, type TomlData } from './edit-toml.ts'

export interface WrittenToml {
  /** A copy of the file as it was; undefined = its comments are kept, or there was nothing to lose. */
  readonly backup: string | undefined
}

/**
 * Writes `next` into a settings file that held `before` ('' = there was none), keeping comments and order; where that cannot be done,
 * the old file is copied to `<file>.bak-<n>` first. Call it under `withWriteLock`, with a text that was read there and is valid.
 */
export async function writeToml(path: string, before: string, next: TomlData): Promise<WrittenToml> {
  const edited = editToml(before, next)
  if (edited.text === before) return { backup: undefined }
  const backup = edited.keptComments ? undefined : await backUp(path)
  await writeFileWhole(path, edited.text)
  return { backup }
}

/** Copies a file to the first free `<file>.bak-<n>`, n from 1, and answers that path. Errors: those of the disk. */
export async function backUp(path: string): Promise<string> {
  for (let n = 1; ; n++) {
    const copy = `${path}.bak-${n}`
    try {
      await copyFile(path, copy, constants.COPYFILE_EXCL)
      return copy
    } catch (cause) {
      if (errnoOf(cause) !== 'EEXIST') throw cause
    }
  }
}

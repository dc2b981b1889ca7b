import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf } from '../kernel/errors.ts'

/**
 * Makes a folder and those above it that are missing. Like `mkdir` with `recursive`, but that one never ends on file systems that say
 * ENOENT for a folder they cannot make (/proc, on Node 20). Errors: the system's own.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (cause) {
    const code = errnoOf(cause)
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(path) === path) throw cause
    await makeFolder(dirname(path))
    // Once: if it is ENOENT again, it is not for want of a parent.
    await mkdir(path).catch((again: unknown) => {
      if (errnoOf(again) !== 'EEXIST') throw again
    })
  }
}

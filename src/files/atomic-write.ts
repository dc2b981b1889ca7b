import { open, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { errnoOf, messageOf } from '../kernel/errors.ts'
import { makeFolder } from './make-folder.ts'

/**
 * Replaces a file whole: temp file, fsync, rename, fsync of the folder. A reader sees the old text or the new one, also after
 * a power cut. Makes the folder; a link stays one, the file behind it is replaced. `mode` applies to a new and to an existing file;
 * without it an existing file keeps its own (it may hold secrets) and a new one gets what the system gives.
 * Errors: the system's own, the message naming `path`.
 */
export async function writeFileWhole(path: string, text: string, mode?: number): Promise<void> {
  try {
    await makeFolder(dirname(path))
    await writeFileAtomic(path, text, { ...(mode === undefined ? {} : { mode }), fsync: true })
    const handle = await open(dirname(await realpath(path)), 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw namingPath(path, cause)
  }
}

/** The same error, of the file that was meant: the system's names a temporary one, or none ("no space left on device, write"). */
function namingPath(path: string, cause: unknown): unknown {
  const errno = errnoOf(cause)
  if (errno === undefined || !(cause instanceof Error)) return cause
  const reason = messageOf(cause).replace(/, \w+(?: '.*)?$/s, '')
  const syscall = 'syscall' in cause ? cause.syscall : 'write'
  return Object.assign(new Error(`${path}: ${reason}`, { cause }), { code: errno, syscall, path })
}

import { lstat, mkdir, open, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../files/make-folder.ts'
import { errnoOf, Hal0Error, messageOf } from '../../kernel/errors.ts'
import { GIB, gibText } from '../../kernel/units.ts'

/** Left free on the disk of the store: a full disk harms everything else on the machine. */
const RESERVE_BYTES = GIB

/** Free bytes for this user on the file system of a folder that exists. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Errors: `model.insufficient_disk` when `restBytes` and the reserve are more than what is free. */
export async function requireSpace(
  store: string,
  restBytes: number,
  freeBytes: (folder: string) => Promise<number>,
): Promise<void> {
  const free = await freeBytes(store)
  const need = restBytes + RESERVE_BYTES
  if (restBytes === 0 || free >= need) return
  throw Hal0Error.of(
    'model.insufficient_disk',
    `${store} has ${gibText(free)} free, and ${gibText(need)} are needed: ${gibText(restBytes)} to fetch and ${gibText(RESERVE_BYTES)} in reserve`,
    { details: { folder: store, need_bytes: need, free_bytes: free, reserve_bytes: RESERVE_BYTES } },
  )
}

/**
 * Makes the folders of `relative` (from `resolveStorePath`) below the store and returns the last one. A link among them could lead
 * out of the store: it is refused. Errors: `validation.invalid`, those of `storeError`.
 */
export async function makeStoreFolder(store: string, relative: string): Promise<string> {
  let folder = store
  try {
    await makeFolder(store)
    for (const name of relative.split('/').slice(0, -1)) {
      folder = join(folder, name)
      await mkdir(folder).catch((cause: unknown) => {
        if (errnoOf(cause) !== 'EEXIST') throw cause
      })
      if (!(await lstat(folder)).isDirectory()) {
        throw Hal0Error.of(
          'validation.invalid',
          `${folder} is a link or a file: a model is only stored in a real folder`,
          {
            param: 'repo',
            details: { path: folder, remedy: `Move ${folder} away, or make the whole store a link.` },
          },
        )
      }
    }
    return folder
  } catch (cause) {
    throw storeError(folder, cause)
  }
}

/** Makes a rename or a removal in a folder last. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The error for what the file system refused: `model.insufficient_disk` when it is full, else `internal`, both with its words. */
export function storeError(path: string, cause: unknown): Hal0Error {
  if (cause instanceof Hal0Error) return cause
  const errno = errnoOf(cause)
  if (errno === 'ENOSPC' || errno === 'EDQUOT') {
    return Hal0Error.of('model.insufficient_disk', `${path} cannot be written: ${messageOf(cause)}`, {
      details: { path, errno },
      cause,
    })
  }
  return Hal0Error.of('internal', `the model store failed at ${path}: ${messageOf(cause)}`, {
    details: {
      path,
      errno: errno ?? null,
      remedy: 'Let the user hal0 runs as write to the model store, and look at the disk.',
    },
    cause,
  })
}

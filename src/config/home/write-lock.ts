import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFile } from '../../files/flock.ts'
import type { Home } from '../../files/home.ts'
import { makeFolder } from '../../files/make-folder.ts'
import { errnoOf, Hal0Error, messageOf } from '../../kernel/errors.ts'

/** A writer holds it for milliseconds; longer is a fault elsewhere. */
const WAIT_S = 10

const tails = new Map<string, Promise<unknown>>()

/**
 * One writer of a home's settings at a time, in this process and among processes (daemon and command line): `work` reads, decides and
 * writes while nobody else does. Not reentrant. Errors: those of `work`; `config.invalid` when the lock cannot be had, or when the system
 * refuses what `work` does (no right, a disk that is read-only or full): the message names the path.
 */
export function withWriteLock<T>(home: Home, work: () => Promise<T>): Promise<T> {
  const before = tails.get(home.varLib) ?? Promise.resolve()
  const result = before.then(() => locked(home, work))
  tails.set(
    home.varLib,
    result.catch(() => undefined),
  )
  return result
}

async function locked<T>(home: Home, work: () => Promise<T>): Promise<T> {
  try {
    return await withLockFile(home, work)
  } catch (cause) {
    throw isSystemError(cause) ? refusedBySystem(home, cause) : cause
  }
}

async function withLockFile<T>(home: Home, work: () => Promise<T>): Promise<T> {
  await makeFolder(home.varLib)
  const path = join(home.varLib, 'config.lock')
  const file = await open(path, 'a', 0o600)
  try {
    // The lock is the open file's: it ends with our descriptor, however this process ends.
    if (!(await lockFile(file, `the settings of ${home.label}`, WAIT_S))) throw heldByOther(home, path)
    return await work()
  } finally {
    await file.close()
  }
}

function heldByOther(home: Home, path: string): Hal0Error {
  return Hal0Error.of(
    'config.invalid',
    `another program has held the settings of ${home.label} for ${WAIT_S} s: nothing was written`,
    { details: { path, remedy: `End or continue the program that has ${path} open, and try again.` } },
  )
}

/** What a system call answered, and no fault of hal0's own. */
function isSystemError(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown && errnoOf(thrown) !== undefined
}

const NO_ROOM: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT'])

function refusedBySystem(home: Home, cause: unknown): Hal0Error {
  const errno = errnoOf(cause)
  const remedy = NO_ROOM.has(errno)
    ? 'Make room on the disk of that path, and try again.'
    : 'Give the user that hal0 runs as the right to write there (to the folder too), and try again.'
  return Hal0Error.of('config.invalid', `the settings of ${home.label} cannot be written: ${messageOf(cause)}`, {
    details: { errno, remedy },
    cause,
  })
}

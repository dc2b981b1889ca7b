import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../files/home.ts'
import { makeFolder } from '../files/make-folder.ts'
import { Hal0Error } from '../kernel/errors.ts'

/** A writer holds it for milliseconds; longer is a fault elsewhere. */
const WAIT_S = 10

const tails = new Map<string, Promise<unknown>>()

/**
 * One writer of a home's settings at a time, in this process and among processes (daemon and command line): `work` reads, decides and
 * writes while nobody else does. Not reentrant. Errors: those of `work`; `config.invalid` when the lock cannot be had.
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
  await makeFolder(home.varLib)
  const file = await open(join(home.varLib, 'config.lock'), 'a', 0o600)
  try {
    // The lock is the open file's: it ends with our descriptor, however this process ends.
    const child = spawn('flock', ['-x', '-w', String(WAIT_S), '3'], {
      stdio: ['ignore', 'ignore', 'ignore', file.fd],
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) {
      throw Hal0Error.of('config.invalid', `another program has held the settings of ${home.label} for ${WAIT_S} s`)
    }
    return await work()
  } finally {
    await file.close()
  }
}

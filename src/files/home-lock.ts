import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DaemonFile, daemonFileSchema } from '../contract/daemon-file.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { lockFile } from './flock.ts'
import { daemonFilePath, type Home } from './home.ts'
import { makeFolder } from './make-folder.ts'

/** Held as long as the daemon lives. `release` is idempotent. */
export interface HomeLock {
  release(): Promise<void>
}

/** The file that is locked; it is never removed, for a lock on a removed file locks nothing. */
function lockPath(home: Home): string {
  return join(home.varLib, 'daemon.lock')
}

/**
 * One daemon per home: a lock on a file in it, which ends with the daemon, so there is no stale lock to judge; it holds between containers
 * and through every path that leads to the home.
 * Errors: `server.already_running`, naming url and pid of the other daemon where they are known; `config.invalid` without flock(1).
 * Source: SPEC 2.
 */
export async function lockHome(home: Home): Promise<HomeLock> {
  await makeFolder(home.varLib)
  const file = await open(lockPath(home), 'a', 0o600)
  try {
    if (await lockFile(file, 'the home', 0)) return { release: () => file.close().catch(() => undefined) }
    throw await alreadyRunning(home)
  } catch (cause) {
    await file.close()
    throw cause
  }
}

async function alreadyRunning(home: Home): Promise<Hal0Error> {
  const other = await readDaemonFile(home)
  const who = other === undefined ? '' : ` at ${other.url} (pid ${other.pid})`
  return Hal0Error.of('server.already_running', `a hal0 daemon already runs on ${home.label}${who}`, {
    details: { home: home.label, ...(other === undefined ? {} : { url: other.url, pid: other.pid }) },
  })
}

async function readDaemonFile(home: Home): Promise<DaemonFile | undefined> {
  try {
    return daemonFileSchema.parse(JSON.parse(await readFile(daemonFilePath(home), 'utf8')))
  } catch {
    return undefined
  }
}

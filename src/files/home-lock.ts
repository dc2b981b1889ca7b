import { spawn } from 'node:child_process'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DaemonFile, daemonFileSchema } from '../contract/daemon-file.ts'
import { errnoOf, Hal0Error } from '../kernel/errors.ts'
import { daemonFilePath, type Home } from './home.ts'
import { makeFolder } from './make-folder.ts'

/** Held as long as the daemon lives. `release` is idempotent. */
export interface HomeLock {
  release(): Promise<void>
}

/** flock(1) says with it that somebody else has the lock. */
const TAKEN = 1

/** The file that is locked; it is never removed, for a lock on a removed file locks nothing. */
function lockPath(home: Home): string {
  return join(home.varLib, 'daemon.lock')
}

/**
 * One daemon per home: flock(2) on a file in it. The kernel gives the lock to one process and takes it back when that process ends in
 * whatever way, so there is no stale lock to judge; it holds between containers and through every path that leads to the home.
 * Node cannot call flock itself: flock(1) locks the open file that it inherits, and the lock stays with our descriptor.
 * Errors: `server.already_running`, naming url and pid of the other daemon where they are known; `config.invalid` without flock(1).
 * Source: SPEC 2.
 */
export async function lockHome(home: Home): Promise<HomeLock> {
  await makeFolder(home.varLib)
  const file = await open(lockPath(home), 'a', 0o600)
  try {
    if (await lock(file)) return { release: () => file.close().catch(() => undefined) }
    throw await alreadyRunning(home)
  } catch (cause) {
    await file.close()
    throw cause
  }
}

/** False = somebody else has it. */
function lock(file: FileHandle): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['-n', '-x', '3'], { stdio: ['ignore', 'ignore', 'ignore', file.fd] })
    child.once('error', (cause) => {
      const reason = errnoOf(cause) === 'ENOENT' ? 'there is no flock on PATH' : cause.message
      reject(
        Hal0Error.of('config.invalid', `the home cannot be locked: ${reason}`, {
          details: { remedy: 'Install util-linux (or busybox), which brings flock.' },
          cause,
        }),
      )
    })
    child.once('exit', (code) => {
      if (code === 0 || code === TAKEN) resolve(code === 0)
      else reject(Hal0Error.of('config.invalid', `the home cannot be locked: flock ended with ${code ?? 'a signal'}`))
    })
  })
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

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { type DaemonFile, daemonFileSchema } from '../contract/daemon-file.ts'
import type { ProcessRef } from '../contract/slot-state.ts'
import { errnoOf, Hal0Error } from '../kernel/errors.ts'
import { daemonFilePath, type Home } from './home.ts'
import { openHomeId } from './home-id.ts'

/** Held as long as the daemon lives. `release` is idempotent. */
export interface HomeLock {
  release(): Promise<void>
}

/**
 * One daemon per home, proved twice. First a listening socket in Linux' abstract namespace: the kernel gives it to one process and takes
 * it back when that process dies in whatever way, so there is no stale lock to judge, and no race in taking one over. It holds among
 * processes of one network namespace. For the others (containers that share the home as a volume) there is daemon.json: when it names a
 * live process by pid, start time and boot, that one has the home.
 * What remains: a daemon in another pid namespace (a container with its own) cannot be seen from here. Such containers must not share a home.
 * `isAlive`: is it this very process, and does it live? Errors: `server.already_running`, naming url and pid of the other daemon where they
 * are known. Source: SPEC 2.
 */
export async function lockHome(home: Home, isAlive: (ref: ProcessRef) => boolean): Promise<HomeLock> {
  const name = lockName(await openHomeId(home))
  const server = createServer((socket) => socket.destroy())
  const taken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error) => (errnoOf(error) === 'EADDRINUSE' ? resolve(true) : reject(error)))
    server.listen(name, () => resolve(false))
  })
  const other = await readDaemonFile(home)
  if (taken) throw alreadyRunning(home, other)
  server.unref()
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()))
  // The file of a daemon that ended badly in this very process is not another's.
  if (other !== undefined && other.pid !== process.pid && isAlive(other)) {
    await release()
    throw alreadyRunning(home, other)
  }
  return { release }
}

/** The abstract socket of a home. */
export function lockName(homeId: string): string {
  return `\0hal0-home-${homeId}`
}

function alreadyRunning(home: Home, other: DaemonFile | undefined): Hal0Error {
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

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { daemonFileSchema } from '../contract/daemon-file.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { daemonFilePath, type Home } from './home.ts'
import { findHomeId } from './home-id.ts'

/** Held as long as the daemon lives. `release` is idempotent. */
export interface HomeLock {
  release(): Promise<void>
}

/**
 * One daemon per home. The lock is a listening socket in Linux' abstract namespace: the kernel gives it to one process and takes it
 * back when that process dies in whatever way, so there is no stale lock to judge, and no race in taking one over.
 * Errors: `server.already_running`, naming url and pid of the other daemon where they are known. Source: SPEC 2.
 */
export async function lockHome(home: Home): Promise<HomeLock> {
  const name = lockName(await findHomeId(home))
  const server = createServer((socket) => socket.destroy())
  const taken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(true) : reject(error),
    )
    server.listen(name, () => resolve(false))
  })
  if (taken) throw await alreadyRunning(home)
  server.unref()
  return {
    release: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The abstract socket of a home. */
export function lockName(homeId: string): string {
  return `\0hal0-home-${homeId}`
}

async function alreadyRunning(home: Home): Promise<Hal0Error> {
  const text = await readFile(daemonFilePath(home), 'utf8').catch(() => '')
  const other = parseDaemonFile(text)
  const who = other === undefined ? '' : ` at ${other.url} (pid ${other.pid})`
  return Hal0Error.of('server.already_running', `a hal0 daemon already runs on ${home.label}${who}`, {
    details: { home: home.label, ...(other === undefined ? {} : { url: other.url, pid: other.pid }) },
  })
}

function parseDaemonFile(text: string): { readonly url: string; readonly pid: number } | undefined {
  try {
    return daemonFileSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

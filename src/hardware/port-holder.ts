import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { readProgramName } from './program-name.ts'

/** The program that listens on a TCP port of this machine. */
export interface PortHolder {
  readonly pid: number
  /** The name of its program file, without folder and arguments (arguments may hold secrets). */
  readonly program: string
}

/** Kernel word for a listening socket in /proc/net/tcp. */
const TCP_LISTEN = '0A'

/**
 * Which process listens on `port`, on any address? Undefined when nobody does or when it belongs to another user and we may not look.
 * Never rejects. Reads `<root>/proc/net/tcp`, `tcp6` and the file descriptors of every process we may see.
 */
export async function findPortHolder(port: number, root = '/'): Promise<PortHolder | undefined> {
  const proc = join(root, 'proc')
  const tables = await Promise.all(['net/tcp', 'net/tcp6'].map((name) => readText(join(proc, name))))
  const inodes = new Set(tables.flatMap((table) => listeningInodes(table, port)))
  if (inodes.size === 0) return undefined
  const pids = (await readdir(proc).catch(() => [])).filter((entry) => /^\d+$/.test(entry))
  for (const pid of pids) {
    if (await holdsSocket(join(proc, pid, 'fd'), inodes)) {
      return { pid: Number(pid), program: await readProgramName(join(proc, pid)) }
    }
  }
  return undefined
}

/** Socket inodes that listen on `port`, from the text of /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): readonly string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  return table.split('\n').flatMap((line) => {
    // sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …
    const columns = line.trim().split(/\s+/)
    const inode = columns[9]
    const listens = columns[3] === TCP_LISTEN && columns[1]?.split(':')[1] === hexPort
    return listens && inode !== undefined ? [inode] : []
  })
}

async function holdsSocket(fdFolder: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const fds = await readdir(fdFolder).catch(() => [])
  const targets = await Promise.all(fds.map((fd) => readlink(join(fdFolder, fd)).catch(() => '')))
  return targets.some((target) => {
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
    return inode !== undefined && inodes.has(inode)
  })
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

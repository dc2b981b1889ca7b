import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Home } from './home.ts'
import { makeFolder } from './make-folder.ts'

/**
 * Makes the home's state folder and answers what tells this home from every other on the machine: 32 hex digits. By the folder itself
 * (device and inode), not by its path: it stays when the home is moved or reached through a link or a mount, and a copy is another home.
 */
export async function openHomeId(home: Home): Promise<string> {
  await makeFolder(home.varLib)
  const { dev, ino } = await stat(home.varLib, { bigint: true })
  return createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 32)
}

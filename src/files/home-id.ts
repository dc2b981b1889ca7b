import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import type { Home } from './home.ts'
import { makeFolder } from './make-folder.ts'

/** Makes the home's state folder and answers what tells this home from every other on the machine, whatever path it was reached by: 32 hex digits. */
export async function openHomeId(home: Home): Promise<string> {
  await makeFolder(home.varLib)
  return createHash('sha256')
    .update(await realpath(home.varLib))
    .digest('hex')
    .slice(0, 32)
}

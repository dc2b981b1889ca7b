import { createHash } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import type { Home } from './home.ts'

/** Tells one home from every other on this machine, whatever path it was reached by: 32 hex digits. Makes the home's state folder. */
export async function findHomeId(home: Home): Promise<string> {
  await mkdir(home.varLib, { recursive: true })
  return createHash('sha256')
    .update(await realpath(home.varLib))
    .digest('hex')
    .slice(0, 32)
}

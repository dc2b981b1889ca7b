import { randomBytes } from 'node:crypto'
import { writeFileWhole } from '../files/atomic-write.ts'
import { engineKeyPath, type Home } from '../files/home.ts'

/** Draws the key of one start and keeps it, 0600, beside state.json. 256 random bits. Source: SPEC 5 "Engine key". */
export async function drawEngineKey(home: Home, slot: string): Promise<string> {
  const key = randomBytes(32).toString('base64url')
  await writeFileWhole(engineKeyPath(home, slot), key, 0o600)
  return key
}

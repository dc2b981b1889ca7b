import { randomBytes } from 'node:crypto'
import { writeFileWhole } from '../files/atomic-write.ts'
import { engineKeyPath, type Home } from '../files/home.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'

/** Draws the key of one start and keeps it, 0600, beside state.json. 256 random bits. Errors: `slot.spawn_failed`. Source: SPEC 5 "Engine key". */
export async function drawEngineKey(home: Home, slot: string): Promise<string> {
  const key = randomBytes(32).toString('base64url')
  const path = engineKeyPath(home, slot)
  try {
    await writeFileWhole(path, key, 0o600)
  } catch (cause) {
    throw Hal0Error.of('slot.spawn_failed', `the engine key of slot ${slot} cannot be written: ${messageOf(cause)}`, {
      details: {
        slot,
        path,
        remedy: `Make room, or make ${path} a file that hal0 may write; then load the slot again.`,
      },
      cause,
    })
  }
  return key
}

import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { engineKeyPath, type Home } from '../../files/home.ts'
import type { KeptWrites } from '../launch/kept-writes.ts'
import { writeRunFile } from '../launch/write-run-file.ts'

/** Draws keys; those of one slot are written in the order in which they were drawn, so that the last start's is the one that stays. */
export function createKeyDrawer(home: Home, kept: KeptWrites): (slot: string) => Promise<string> {
  const tails = new Map<string, Promise<unknown>>()
  return (slot) => {
    const drawn = (tails.get(slot) ?? Promise.resolve()).then(() => drawEngineKey(home, kept, slot))
    const tail = drawn
      .catch(() => undefined)
      .finally(() => {
        if (tails.get(slot) === tail) tails.delete(slot)
      })
    tails.set(slot, tail)
    return drawn
  }
}

/** What can go into a header: with anything else no engine could even be asked whether the key is its own. */
const USABLE_KEY = /^[\x21-\x7e]+$/

/** The key of the last start; undefined = there is none, it cannot be read, or what is there cannot be a key. Never logged. */
export async function readEngineKey(home: Home, slot: string): Promise<string | undefined> {
  const text = await readFile(engineKeyPath(home, slot), 'utf8').catch(() => undefined)
  // An editor may have put an end to the line.
  const key = text?.trimEnd() ?? ''
  return USABLE_KEY.test(key) ? key : undefined
}

/** Draws the key of one start and keeps it, 0600, beside state.json. 256 random bits. Never rejects: see `KeptWrites`. Source: SPEC 5 "Engine key". */
async function drawEngineKey(home: Home, kept: KeptWrites, slot: string): Promise<string> {
  const key = randomBytes(32).toString('base64url')
  const path = engineKeyPath(home, slot)
  await kept.keep({ slot, path, write: () => writeRunFile(path, key) })
  return key
}

import { readFile, rename } from 'node:fs/promises'
import { z } from 'zod'
import { type ArbiterState, arbiterStateSchema } from '../contract/arbiter.ts'
import { writeFileWhole } from '../files/atomic-write.ts'
import { isNotFound, messageOf } from '../kernel/errors.ts'

/** What was kept of an earlier daemon. `unfit`: there is a file, but it cannot be used; it has been put aside as `keptAs`. */
export type StoredState =
  | { readonly kind: 'none' }
  | { readonly kind: 'found'; readonly state: ArbiterState }
  | { readonly kind: 'unfit'; readonly reason: string; readonly keptAs: string | undefined }

/** Where the arbiter's state outlives the daemon. */
export interface ArbiterStore {
  read(): Promise<StoredState>
  /** Whole or not at all. Errors: the system's own. */
  write(state: ArbiterState): Promise<void>
}

/** The form of the file. One that says another number was written by another hal0. */
const VERSION = 1
const fileSchema = arbiterStateSchema.extend({ version: z.literal(VERSION).optional() })

/** `gpu_arbiter.json`. Source: SPEC 2, 8. */
export function createStateFile(path: string): ArbiterStore {
  async function read(): Promise<StoredState> {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (cause) {
      return isNotFound(cause) ? { kind: 'none' } : { kind: 'unfit', reason: messageOf(cause), keptAs: undefined }
    }
    try {
      const { version: _, ...state } = fileSchema.parse(JSON.parse(text))
      return { kind: 'found', state }
    } catch (cause) {
      const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : messageOf(cause)
      const aside = `${path}.bad`
      const keptAs = await rename(path, aside).then(
        () => aside,
        () => undefined,
      )
      return { kind: 'unfit', reason, keptAs }
    }
  }
  return {
    read,
    write: (state) => writeFileWhole(path, `${JSON.stringify({ version: VERSION, ...state }, null, 2)}\n`),
  }
}

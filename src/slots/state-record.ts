import { readFile } from 'node:fs/promises'
import { type SlotStateRecord, slotStateRecordSchema } from '../contract/slot-state.ts'
import type { Publisher } from '../events/bus.ts'
import { writeFileWhole } from '../files/atomic-write.ts'
import { type Home, slotStatePath } from '../files/home.ts'
import { messageOf } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'

/** The record an earlier daemon left; undefined when there is none or it cannot be understood. */
export async function readStateRecord(home: Home, slot: string, log: Log): Promise<SlotStateRecord | undefined> {
  const path = slotStatePath(home, slot)
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    return slotStateRecordSchema.parse(JSON.parse(text))
  } catch (cause) {
    log.warn({ slot, path, reason: messageOf(cause) }, 'state.json is not readable; the slot starts afresh')
    return undefined
  }
}

/** Writes records one after another; while one is being written only the newest of the others is kept. */
export interface RecordWriter {
  write(record: SlotStateRecord): void
  /** Resolves when the newest record given so far is on disk (or could not be written, which log and bus are told). */
  flush(): Promise<void>
}

export function createRecordWriter(
  home: Home,
  slot: string,
  { log, bus }: { readonly log: Log; readonly bus: Publisher },
): RecordWriter {
  const path = slotStatePath(home, slot)
  let next: SlotStateRecord | undefined
  let running: Promise<void> | undefined

  async function drain(): Promise<void> {
    while (next !== undefined) {
      const record = next
      next = undefined
      try {
        // Private: a failure quotes the engine's log, which may hold what people asked.
        await writeFileWhole(path, `${JSON.stringify(record, null, 2)}\n`, 0o600)
      } catch (cause) {
        // The file tells an older state from now on; the next change tries again.
        const message = `the state of slot ${slot} could not be saved: ${messageOf(cause)}`
        log.error({ slot, path }, message)
        const data = { slot, path, state: record.state }
        bus.publish({ type: 'slot.state_not_saved', severity: 'error', source: `slot:${slot}`, message, data })
      }
    }
    running = undefined
  }
  return {
    write: (record) => {
      next = record
      running ??= drain()
    },
    flush: async () => {
      while (running !== undefined) await running
    },
  }
}

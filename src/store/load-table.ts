import type { Database } from 'better-sqlite3'
import { type LoadRecord, loadRecordSchema } from '../contract/load-record.ts'
import { isoTime } from '../kernel/units.ts'
import { requireInPlace } from './in-place.ts'
import type { HistoryChange } from './rules/find-waiting.ts'

/** The table `loads` of hal0.db. Errors of every call: SQLite's own. */
export interface LoadTable {
  /** All of them in one transaction. `oldestMs`: loads that began before (epoch ms) go; `perSlot`: more of one slot go, oldest first. */
  write(changes: readonly HistoryChange[], limits: { readonly oldestMs: number; readonly perSlot: number }): void
  /** Newest first. A row that is no record (edited by hand) is left out. */
  recent(slot: string, limit: number): readonly LoadRecord[]
}

interface Row {
  readonly slot: string
  readonly attempt_id: string
  readonly model_id: string | null
  readonly profile: string | null
  readonly begun_at_ms: number
  readonly took_ms: number
  readonly phases: string
  readonly outcome: string
  readonly code: string | null
}

const COLUMNS = 'slot, attempt_id, model_id, profile, begun_at_ms, took_ms, phases, outcome, code'

export function openLoadTable(db: Database): LoadTable {
  const add = db.prepare<Row>(`
    INSERT INTO loads (${COLUMNS})
    VALUES (@slot, @attempt_id, @model_id, @profile, @begun_at_ms, @took_ms, @phases, @outcome, @code)
  `)
  const select = db.prepare<[string, number], Row>(
    `SELECT ${COLUMNS} FROM loads WHERE slot = ? ORDER BY id DESC LIMIT ?`,
  )
  const rename = db.prepare<[string, string]>('UPDATE loads SET slot = ? WHERE slot = ?')
  const forget = db.prepare<[string]>('DELETE FROM loads WHERE slot = ?')
  const expire = db.prepare<[number]>('DELETE FROM loads WHERE begun_at_ms < ?')
  // Where a slot has no more than it may, the inner query is empty, and nothing compares with it.
  const trim = db.prepare<{ slot: string; keep: number }>(`
    DELETE FROM loads WHERE slot = @slot
    AND id <= (SELECT id FROM loads WHERE slot = @slot ORDER BY id DESC LIMIT 1 OFFSET @keep)
  `)

  const write = db.transaction((changes: readonly HistoryChange[], oldestMs: number, perSlot: number) => {
    const grown = new Set<string>()
    for (const change of changes) {
      switch (change.kind) {
        case 'add':
          add.run(rowOf(change.record))
          grown.add(change.record.slot)
          break
        case 'rename':
          if (change.from === change.to) break
          // Whatever is still kept under the new name was another slot.
          forget.run(change.to)
          rename.run(change.to, change.from)
          if (grown.delete(change.from)) grown.add(change.to)
          break
        case 'forget':
          forget.run(change.slot)
          break
      }
    }
    for (const slot of grown) trim.run({ slot, keep: perSlot })
    expire.run(oldestMs)
  })

  return {
    write(changes, { oldestMs, perSlot }) {
      requireInPlace(db)
      write.immediate(changes, oldestMs, perSlot)
    },
    recent: (slot, limit) => select.all(slot, limit).flatMap((row) => recordOf(row) ?? []),
  }
}

function rowOf({ begun_at, phases, took_ms, ...rest }: LoadRecord): Row {
  return { ...rest, begun_at_ms: Date.parse(begun_at), took_ms: Math.round(took_ms), phases: JSON.stringify(phases) }
}

function recordOf({ begun_at_ms, phases, ...rest }: Row): LoadRecord | undefined {
  try {
    const record = { ...rest, begun_at: isoTime(begun_at_ms), phases: JSON.parse(phases) }
    return loadRecordSchema.safeParse(record).data
  } catch {
    return undefined
  }
}

import type { LoadRecord } from '../contract/load-record.ts'
import type { Clock } from '../kernel/clock.ts'
import { HOUR_MS } from '../kernel/units.ts'
import type { LoadTable } from './load-table.ts'
import { findWaiting, type HistoryChange } from './rules/find-waiting.ts'
import { createWriteLater, FLUSH_AFTER_MS, type WriteJudge } from './write-later.ts'

/** A slot's last loads. Nothing here waits for the disk except `recent`. Source: SPEC 5 "Every load records the phases". */
export interface LoadHistory {
  /** Never throws. It is written within a second. */
  record(record: LoadRecord): void
  /** The slot's last loads by the order in which they ended, newest first; also those not written yet. Never throws. */
  recent(slot: string, limit: number): readonly LoadRecord[]
  /** The slot has another name now. */
  renamed(from: string, to: string): void
  /** The slot is deleted. */
  forget(slot: string): void
}

/** How many loads of one slot are kept, and for how long. */
export const LOADS_PER_SLOT = 200
export const LOADS_KEPT_MS = 90 * 24 * HOUR_MS

/** Changes are written at once, after this turn, when so many wait. */
export const FLUSH_AT = 100
/** What waits for a disk that cannot be written, at most; the oldest loads are given up first. */
export const MAX_WAITING = 1_000

export interface LoadHistoryOptions extends WriteJudge {
  readonly clock: Clock
  /** Undefined = history lives in memory only. */
  readonly table: LoadTable | undefined
}

/** `close` writes what waits, if it can. */
export function createLoadHistory(options: LoadHistoryOptions): LoadHistory & { close(): void } {
  const { clock, table, onFailed } = options
  let waiting: HistoryChange[] = []
  let isClosed = false
  const writer = createWriteLater({
    ...options,
    write() {
      if (table === undefined || waiting.length === 0) return false
      table.write(waiting, { oldestMs: clock.nowMs() - LOADS_KEPT_MS, perSlot: LOADS_PER_SLOT })
      waiting = []
      return true
    },
  })
  if (table === undefined) writer.giveUp()

  function tell(change: HistoryChange): void {
    if (isClosed) return
    if (waiting.length >= MAX_WAITING) {
      const oldest = waiting.findIndex(({ kind }) => kind === 'add')
      waiting.splice(Math.max(0, oldest), 1)
    }
    waiting.push(change)
    // Not at once: whoever tells is in the middle of a slot's work.
    writer.arm(waiting.length >= FLUSH_AT ? 0 : FLUSH_AFTER_MS)
  }

  return {
    record: (record) => tell({ kind: 'add', record: writable(record, clock.nowMs()) }),
    renamed: (from, to) => tell({ kind: 'rename', from, to }),
    forget: (slot) => tell({ kind: 'forget', slot }),
    recent(slot, limit) {
      const { records, nameInFile } = findWaiting(waiting, slot)
      const newest = records.slice(0, limit)
      if (nameInFile === undefined || newest.length >= limit || isClosed) return newest
      return [...newest, ...readRest(nameInFile, limit - newest.length).map((record) => ({ ...record, slot }))]
    },
    close() {
      isClosed = true
      writer.close()
    },
  }

  function readRest(name: string, limit: number): readonly LoadRecord[] {
    if (writer.isOver) return []
    try {
      return table?.recent(name, limit) ?? []
    } catch (thrown) {
      if (onFailed(thrown) === 'never') writer.giveUp()
      return []
    }
  }
}

/** One record that cannot be written would hold up all that wait with it. */
function writable(record: LoadRecord, nowMs: number): LoadRecord {
  const begunMs = Date.parse(record.begun_at)
  const tookMs = Number.isFinite(record.took_ms) ? Math.max(0, Math.round(record.took_ms)) : 0
  const begunAt = Number.isNaN(begunMs) ? new Date(nowMs).toISOString() : record.begun_at
  return { ...record, begun_at: begunAt, took_ms: tookMs }
}

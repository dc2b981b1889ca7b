import type { LoadRecord } from '../contract/load-record.ts'
import type { CancelTimer, Clock } from '../kernel/clock.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../kernel/units.ts'
import type { LoadTable } from './load-table.ts'
import { findWaiting, type HistoryChange } from './rules/find-waiting.ts'

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

/** Changes are written together this long after the first of them, or as soon as so many wait. */
export const FLUSH_AFTER_MS = SECOND_MS
export const FLUSH_AT = 100
/** A disk that could not be written is tried again so much later; a file that was only busy is, after `FLUSH_AFTER_MS`. */
export const RETRY_AFTER_MS = MINUTE_MS
/** What waits for a disk that cannot be written, at most; the oldest loads are given up first. */
export const MAX_WAITING = 1_000

export interface LoadHistoryOptions {
  readonly clock: Clock
  /** Undefined = history lives in memory only. */
  readonly table: LoadTable | undefined
  /** A write failed: may it be tried again at the next flush, only after a pause, or not in this life? */
  readonly onFailed: (thrown: unknown) => 'soon' | 'later' | 'never'
  readonly onWritten: () => void
}

/** `close` writes what waits, if it can. */
export function createLoadHistory(options: LoadHistoryOptions): LoadHistory & { close(): void } {
  const { clock, onFailed, onWritten } = options
  let { table } = options
  let waiting: HistoryChange[] = []
  /** Armed for `dueMs`, monotonic. */
  let timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let isClosed = false

  function flush(): void {
    timer?.cancel()
    timer = undefined
    if (table === undefined || waiting.length === 0) return
    try {
      table.write(waiting, { oldestMs: clock.nowMs() - LOADS_KEPT_MS, perSlot: LOADS_PER_SLOT })
      waiting = []
      onWritten()
    } catch (thrown) {
      const again = onFailed(thrown)
      if (again === 'never') table = undefined
      else if (again === 'later') notBeforeMs = clock.monotonicMs() + RETRY_AFTER_MS
      arm(FLUSH_AFTER_MS)
    }
  }

  function arm(delayMs: number): void {
    if (isClosed || table === undefined) return
    const nowMs = clock.monotonicMs()
    const dueMs = Math.max(nowMs + delayMs, notBeforeMs)
    if (timer !== undefined && timer.dueMs <= dueMs) return
    timer?.cancel()
    timer = { dueMs, cancel: clock.setTimer(dueMs - nowMs, flush) }
  }

  function tell(change: HistoryChange): void {
    if (isClosed) return
    if (waiting.length >= MAX_WAITING) {
      const oldest = waiting.findIndex(({ kind }) => kind === 'add')
      waiting.splice(Math.max(0, oldest), 1)
    }
    waiting.push(change)
    // Not at once: whoever tells is in the middle of a slot's work.
    arm(waiting.length >= FLUSH_AT ? 0 : FLUSH_AFTER_MS)
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
      if (isClosed) return
      flush()
      isClosed = true
      timer?.cancel()
    },
  }

  function readRest(name: string, limit: number): readonly LoadRecord[] {
    try {
      return table?.recent(name, limit) ?? []
    } catch (thrown) {
      if (onFailed(thrown) === 'never') table = undefined
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

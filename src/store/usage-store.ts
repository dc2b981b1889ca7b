import type { RequestReader, UsageSummary, UsageSums } from '../contract/usage.ts'
import type { Clock } from '../kernel/clock.ts'
import {
  addRequest,
  addSums,
  DAY_MS,
  type GroupValue,
  type GrowingSums,
  groupValueOf,
  keyOf,
  keyText,
  noSums,
  reportOf,
  type UsageRow,
  wholeHours,
} from './rules/usage-sums.ts'
import type { UsageQuery, UsageTable } from './usage-table.ts'
import { createWriteLater, FLUSH_AFTER_MS, type WriteJudge } from './write-later.ts'

/** Who used how much, by the hour. Nothing here waits for the disk except `report`. Source: SPEC 11 "Usage". */
export interface UsageStore {
  /** A reader of the ledger. It is written within a second. */
  readonly record: RequestReader
  /** Of the whole hours that hold `fromMs ≤ t < toMs` (epoch ms); also what is not written yet. Never throws. */
  report(query: UsageQuery): UsageSummary
}

/** How long usage is kept: a year, and the month in which somebody looks back at it. */
export const USAGE_KEPT_MS = 400 * DAY_MS
/** Sums that wait for a disk that cannot be written, at most; the oldest are given up first. */
export const MAX_WAITING_SUMS = 10_000

export interface UsageStoreOptions extends WriteJudge {
  readonly clock: Clock
  /** Undefined = usage lives in memory only. */
  readonly table: UsageTable | undefined
}

/** `close` writes what waits, if it can. */
export function createUsageStore(options: UsageStoreOptions): UsageStore & { close(): void } {
  const { clock, table, onFailed } = options
  const waiting = new Map<string, UsageRow>()
  const writer = createWriteLater({
    ...options,
    write() {
      if (table === undefined || waiting.size === 0) return false
      table.add(waiting.values(), clock.nowMs() - USAGE_KEPT_MS)
      waiting.clear()
      return true
    },
  })
  if (table === undefined) writer.giveUp()

  /** Where to add: made new for the first request of an hour and caller. */
  function sumsFor(key: Omit<UsageRow, 'sums'>): GrowingSums {
    const text = keyText(key)
    const known = waiting.get(text)
    if (known !== undefined) return known.sums
    const oldest = waiting.size >= MAX_WAITING_SUMS ? waiting.keys().next().value : undefined
    if (oldest !== undefined) waiting.delete(oldest)
    const sums = noSums()
    waiting.set(text, { ...key, sums })
    return sums
  }

  function written(query: UsageQuery): ReadonlyMap<GroupValue, UsageSums> {
    if (table === undefined || writer.isOver) return new Map()
    try {
      return table.sums(query)
    } catch (thrown) {
      if (onFailed(thrown) === 'never') writer.giveUp()
      return new Map()
    }
  }

  return {
    record(records, usages) {
      const nowMs = clock.nowMs()
      records.forEach((record, n) => addRequest(sumsFor(keyOf(record, nowMs)), record, usages[n] ?? null))
      writer.arm(FLUSH_AFTER_MS)
    },
    report({ fromMs, toMs, ...asked }) {
      const query = { ...wholeHours(fromMs, toMs), ...asked }
      const found = new Map<GroupValue, GrowingSums>()
      const add = (value: GroupValue, sums: UsageSums): void => {
        const group = found.get(value) ?? noSums()
        addSums(group, sums)
        found.set(value, group)
      }
      for (const [value, sums] of written(query)) add(value, sums)
      for (const row of waiting.values()) {
        const isAsked = asked.userId === undefined || row.userId === asked.userId
        if (isAsked && row.hourMs >= query.fromMs && row.hourMs < query.toMs) add(groupValueOf(row, asked.by), row.sums)
      }
      return reportOf(query, found)
    },
    close: () => writer.close(),
  }
}

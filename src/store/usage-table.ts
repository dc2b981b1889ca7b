import type { Database } from 'better-sqlite3'
import type { UsageBy, UsageSums } from '../contract/usage.ts'
import { requireInPlace } from './in-place.ts'
import { DAY_MS, type GroupValue, type UsageRow } from './rules/usage-sums.ts'

/** Hours `fromMs ≤ hour < toMs`, epoch ms. */
export interface UsageQuery {
  readonly fromMs: number
  readonly toMs: number
  readonly by: UsageBy
  /** Only of this user; absent = of all. */
  readonly userId?: string
}

/** The table `usage` of hal0.db. Errors of every call: SQLite's own. */
export interface UsageTable {
  /** Adds these to what is there, in one transaction. Hours that began before `oldestMs` (epoch ms) go. */
  add(rows: Iterable<UsageRow>, oldestMs: number): void
  sums(query: UsageQuery): ReadonlyMap<GroupValue, UsageSums>
}

const KEY = 'hour_ms, slot, route, key_id, user_id, reservation_id'
const SUMS = [
  'requests',
  'failed',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'unknown',
  'busy_ms',
] as const

const GROUP: Readonly<Record<UsageBy, string>> = {
  slot: 'slot',
  route: 'route',
  key: 'key_id',
  user: 'user_id',
  reservation: 'reservation_id',
  hour: 'hour_ms',
  day: `hour_ms - hour_ms % ${DAY_MS}`,
}

type Grouped = UsageSums & { readonly value: GroupValue }

export function openUsageTable(db: Database): UsageTable {
  const names = SUMS.join(', ')
  const upsert = db.prepare<Record<string, GroupValue>>(`
    INSERT INTO usage (${KEY}, ${names})
    VALUES (@hourMs, @slot, @route, @keyId, @userId, @reservationId, ${SUMS.map((name) => `@${name}`).join(', ')})
    ON CONFLICT (${KEY}) DO UPDATE SET ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}
  `)
  const expire = db.prepare<[number]>('DELETE FROM usage WHERE hour_ms < ?')
  const select = (by: UsageBy) =>
    db.prepare<[number, number, string | null], Grouped>(`
      SELECT ${GROUP[by]} AS value, ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(', ')}
      FROM usage WHERE hour_ms >= ? AND hour_ms < ? AND user_id = ifnull(?, user_id) GROUP BY 1
    `)

  const add = db.transaction((rows: Iterable<UsageRow>, oldestMs: number) => {
    for (const { sums, ...key } of rows) upsert.run({ ...key, ...sums })
    expire.run(oldestMs)
  })

  return {
    add(rows, oldestMs) {
      requireInPlace(db)
      add.immediate(rows, oldestMs)
    },
    sums: ({ fromMs, toMs, by, userId }) =>
      new Map(
        select(by)
          .all(fromMs, toMs, userId ?? null)
          .map(({ value, ...sums }) => [value, sums]),
      ),
  }
}

import type { Database } from 'better-sqlite3'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { durably } from '../store/durably.ts'
import type { ManualChoice } from './rules/decision.ts'

/** What admins put in the place of lanes' defaults; survives a restart. Source: SPEC 12 "Target" 4. */
export interface ManualStore {
  find(lane: string): ManualChoice | undefined
  /** In the table when it returns. Undefined = take it back. Errors: `lane.store_unavailable`. */
  set(lane: string, choice: ManualChoice | undefined): void
}

interface ManualRow {
  readonly lane: string
  readonly model: string | null
  readonly profile: string | null
  readonly made_at_ms: number
  readonly made_by: string
  readonly until_ms: number | null
}

/** A database that cannot be written is tried again by whoever asks next. */
const RETRY_S = 30

/**
 * The table `lane_manual`, with all of it in memory. `db` undefined = it cannot be used in this life of the daemon. What cannot be read does not
 * count: lanes then run their defaults, and `log` says so.
 */
export function openManualStore(db: Database | undefined, log: Log): ManualStore {
  const choices = new Map<string, ManualChoice>()
  try {
    const rows = db?.prepare<[], ManualRow>('SELECT * FROM lane_manual').all() ?? []
    for (const row of rows) choices.set(row.lane, choiceOf(row))
  } catch (cause) {
    log.warn({ reason: messageOf(cause) }, 'what was chosen by hand for lanes cannot be read, and does not count')
  }

  function write(lane: string, choice: ManualChoice | undefined): void {
    if (db === undefined) throw new Error('hal0.db cannot be used')
    durably(db, () => {
      db.prepare<[string]>('DELETE FROM lane_manual WHERE lane = ?').run(lane)
      if (choice !== undefined) db.prepare<ManualRow>(INSERT).run(rowOf(lane, choice))
    })
  }

  return {
    find: (lane) => choices.get(lane),
    set(lane, choice) {
      try {
        write(lane, choice)
      } catch (cause) {
        throw Hal0Error.of(
          'lane.store_unavailable',
          `the choice for lane ${lane} could not be kept: ${messageOf(cause)}`,
          {
            retryAfterS: RETRY_S,
            details: { lane },
          },
        )
      }
      if (choice === undefined) choices.delete(lane)
      else choices.set(lane, choice)
    },
  }
}

const INSERT = `
  INSERT INTO lane_manual (lane, model, profile, made_at_ms, made_by, until_ms)
  VALUES (@lane, @model, @profile, @made_at_ms, @made_by, @until_ms)
`

function choiceOf({ model, profile, made_at_ms, made_by, until_ms }: ManualRow): ManualChoice {
  return {
    target: model === null || profile === null ? { kind: 'nothing' } : { kind: 'model', model, profile },
    madeAtMs: made_at_ms,
    madeBy: made_by,
    untilMs: until_ms ?? undefined,
  }
}

function rowOf(lane: string, { target, madeAtMs, madeBy, untilMs }: ManualChoice): ManualRow {
  return {
    lane,
    model: target.kind === 'model' ? target.model : null,
    profile: target.kind === 'model' ? target.profile : null,
    made_at_ms: madeAtMs,
    made_by: madeBy,
    until_ms: untilMs ?? null,
  }
}

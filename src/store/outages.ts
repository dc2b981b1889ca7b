import type { NewEvent } from '../contract/events.ts'
import type { Clock } from '../kernel/clock.ts'
import { errnoOf, messageOf } from '../kernel/errors.ts'
import { MINUTE_MS } from '../kernel/units.ts'
import { isDamage } from './open-database.ts'
import type { WriteJudge } from './write-later.ts'

/** A backup is over by then; who holds the file longer is a reason to speak of it. */
const MAX_BUSY_MS = MINUTE_MS
const FOR_THIS_LIFE = 'until the next start of the daemon'

export interface OutagesDeps {
  readonly clock: Clock
  /** Of hal0.db, for messages. */
  readonly path: string
  readonly tell: (severity: NewEvent['severity'], type: string, message: string) => void
}

/** What keeps hal0.db, or one of its tables, from being written. Told when the first trouble begins and when the last one is over. */
export interface Outages {
  /** Undefined = all is written. */
  readonly problem: string | undefined
  /** `who` is not written in this life of the daemon. */
  offForLife(who: string, reason: string): void
  /** Judges the writes of one table. */
  judge(who: string): WriteJudge
}

export function createOutages({ clock, path, tell }: OutagesDeps): Outages {
  const problems = new Map<string, string>()

  function begin(who: string, reason: string, end: string): void {
    if (problems.size === 0) {
      tell('warning', 'store.off', `history is not written: ${path}: ${reason}; hal0 serves without it, ${end}`)
    }
    problems.set(who, reason)
  }

  function over(who: string): void {
    if (problems.delete(who) && problems.size === 0) {
      tell('info', 'store.on', `history is written to ${path} again`)
    }
  }

  return {
    get problem() {
      return problems.values().next().value
    },
    offForLife: (who, reason) => begin(who, reason, FOR_THIS_LIFE),
    judge(who) {
      let busySinceMs: number | undefined
      return {
        onWritten() {
          busySinceMs = undefined
          over(who)
        },
        onFailed(thrown) {
          const isBusy = errnoOf(thrown)?.startsWith('SQLITE_BUSY') === true
          busySinceMs = isBusy ? (busySinceMs ?? clock.monotonicMs()) : undefined
          // Another process has the file for a moment: nothing is lost.
          if (busySinceMs !== undefined && clock.monotonicMs() - busySinceMs < MAX_BUSY_MS) return 'soon'
          if (isDamage(thrown)) {
            begin(who, `it is damaged (${messageOf(thrown)})`, 'and the next start of the daemon begins a new one')
            return 'never'
          }
          begin(who, messageOf(thrown), 'and tries again every minute')
          return 'later'
        },
      }
    },
  }
}

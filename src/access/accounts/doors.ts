import type { Database } from 'better-sqlite3'
import type { NewEvent } from '../../contract/events.ts'
import { Hal0Error, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import type { AccessMode } from '../credentials.ts'
import type { UsersMarker } from '../users-marker.ts'
import type { AccountMemory } from './account-memory.ts'

export interface DoorsDeps {
  readonly db: Database | undefined
  readonly marker: UsersMarker
  readonly log: Log
  readonly publish: (event: NewEvent) => void
}

/** Whether hal0 is open, and the file that keeps it from being so by accident. Source: SPEC 14. */
export interface Doors {
  readonly mode: () => AccessMode
  /** While it is locked: why, and what to do. Sentences. */
  readonly lock: () => string | undefined
  /** Before the first user is written. Errors: `lane.store_unavailable`. */
  set(): Promise<void>
  /** No user is left, or none came of it. Never rejects. */
  clear(): Promise<void>
}

const RETRY_S = 60

/** `problem`: why the store does not say who there is. Where users were and nobody can be read, hal0 is locked, which is told. */
export function createDoors({ db, marker, log, publish }: DoorsDeps, memory: AccountMemory, problem?: string): Doors {
  // A database that is there and cannot be read may hold users.
  let isLocked = memory.userCount === 0 && (marker.wasThere || (db !== undefined && problem !== undefined))
  memory.onChange(() => {
    if (memory.userCount > 0) isLocked = false
  })

  const message = `Users were defined, and hal0.db does not say who (${problem ?? 'it holds none'}): every request but those with this machine's own key (the commands of \`hal0\` here) is refused. ${adviceFor(problem, marker)}`
  if (isLocked) {
    log.error({ file: marker.path }, message)
    publish({ type: 'access.locked', severity: 'error', source: 'access', message, data: { file: marker.path } })
  }
  if (memory.userCount > 0 && !marker.wasThere) {
    marker.write().catch((cause: unknown) => {
      log.warn({ file: marker.path, reason: messageOf(cause) }, 'the file that keeps hal0 closed could not be written')
    })
  }

  return {
    mode: () => (memory.userCount > 0 ? 'users' : isLocked ? 'locked' : 'open'),
    lock: () => (isLocked ? message : undefined),
    async set() {
      try {
        await marker.write()
      } catch (cause) {
        throw Hal0Error.of('lane.store_unavailable', `No user was made: ${messageOf(cause)}`, {
          retryAfterS: RETRY_S,
          details: { remedy: 'Look at the disk and the rights of that folder, then try again.' },
          cause,
        })
      }
    },
    async clear() {
      if (isLocked) return
      await marker.remove().catch((cause: unknown) => {
        log.warn(
          { file: marker.path, reason: messageOf(cause) },
          'this file could not be removed: the next start is locked',
        )
      })
    },
  }
}

function adviceFor(problem: string | undefined, marker: UsersMarker): string {
  const restore = 'Stop hal0, put hal0.db back (a damaged one is kept beside it as hal0.db.bad-N), and start it again'
  const anew = problem === undefined ? '; or begin anew with `hal0 user create NAME --admin`' : ''
  return `${restore}${anew}. To open hal0 to everybody on this machine, remove ${marker.path} while it is stopped.`
}

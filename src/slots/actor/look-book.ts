import type { Hal0Error } from '../../kernel/errors.ts'
import type { Lease } from '../slots.ts'
import { BookedLease, type Grantor, type LeaseGiver } from './lease.ts'

/** Tells the holders, each of which may fail. */
export function revokeEach(leases: readonly BookedLease[], reason: Hal0Error): void {
  for (const lease of leases) {
    try {
      lease.revoke(reason)
    } catch (cause) {
      // A fault of one holder is not the slot's, nor that of the other holders.
      queueMicrotask(() => {
        throw cause
      })
    }
  }
}

/** The looks at one slot's engine that are under way: they are told when it ends, and nothing else comes of them. Source: SPEC 7 "never count as use". */
export class LookBook implements LeaseGiver {
  /** Written by looks, read by nobody: that an engine answers a look says nothing of its work. */
  hasMoved = false
  readonly #open = new Set<BookedLease>()

  open(grantor: Grantor): Lease {
    const look = new BookedLease(grantor, this, 0)
    this.#open.add(look)
    return look
  }

  /** Called by a look. */
  released(look: BookedLease): void {
    this.#open.delete(look)
  }

  /** The engine ends. */
  revokeAll(reason: Hal0Error): void {
    const looks = [...this.#open]
    this.#open.clear()
    revokeEach(looks, reason)
  }
}

import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { announce } from '../../events/announce.ts'
import type { Publisher } from '../../events/bus.ts'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { SECOND_MS } from '../../kernel/units.ts'

/** A disk that was full is tried again so much later. */
const RETRY_MS = 30 * SECOND_MS

/** What is to be on the disk of an engine that starts. */
export interface KeptWrite {
  readonly slot: string
  /** What was given for it before does not count any more. */
  readonly path: string
  readonly write: () => Promise<void>
}

/**
 * Writes that a start waits for, and that do not keep it from starting: without them an engine serves as well. Only, a daemon that comes after
 * a killed one cannot take it over: it finds it, by its environment, ends it and starts it anew. Source: SPEC 4 "Adoption".
 */
export interface KeptWrites {
  /** Resolves when it was tried. What failed is tried again until it is written; of each slot it is told when the first trouble begins and when the last one is over. Never rejects. */
  keep(wish: KeptWrite): Promise<void>
  /** Nothing is tried any more. */
  close(): void
}

export function createKeptWrites(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly bus: Publisher
}): KeptWrites {
  const newest = new Map<string, KeptWrite>()
  /** Of those, what could not be written, by path. */
  const owed = new Map<string, KeptWrite>()
  let cancelRetry: CancelTimer | undefined
  let isClosed = false

  const owes = (slot: string) => [...owed.values()].some((wish) => wish.slot === slot)

  function failed(wish: KeptWrite, cause: unknown): void {
    const { slot, path } = wish
    const isNew = !owes(slot)
    owed.set(path, wish)
    if (isNew) {
      const effect = 'it starts all the same; a hal0 that was killed before this is written ends it and starts it anew'
      const message = `what slot ${slot} is started with cannot be written down (${messageOf(cause)}): ${effect}. Make room, or let hal0 write there: ${path}`
      const data = { slot, path }
      announce(deps, { type: 'slot.launch_not_saved', severity: 'warning', source: `slot:${slot}`, message, data })
    }
    cancelRetry ??= deps.clock.setTimer(RETRY_MS, () => void retry())
  }

  function settled({ slot, path }: KeptWrite): void {
    newest.delete(path)
    if (!owed.delete(path) || owes(slot)) return
    const message = `what slot ${slot} was started with is written down`
    announce(deps, { type: 'slot.launch_saved', severity: 'info', source: `slot:${slot}`, message, data: { slot } })
  }

  async function attempt(wish: KeptWrite): Promise<void> {
    const outcome = await wish.write().then(
      () => undefined,
      (cause: unknown) => ({ cause }),
    )
    // Meanwhile there may be something newer to write there.
    if (isClosed || newest.get(wish.path) !== wish) return
    if (outcome === undefined) settled(wish)
    else failed(wish, outcome.cause)
  }

  async function retry(): Promise<void> {
    cancelRetry = undefined
    for (const wish of [...owed.values()]) {
      const isGone = await stat(dirname(wish.path)).then(
        () => false,
        () => true,
      )
      if (isClosed) return
      if (newest.get(wish.path) !== wish) continue
      if (!isGone) await attempt(wish)
      else {
        // The slot is no more.
        newest.delete(wish.path)
        owed.delete(wish.path)
      }
    }
  }

  return {
    keep(wish) {
      newest.set(wish.path, wish)
      return attempt(wish)
    },
    close() {
      isClosed = true
      cancelRetry?.()
    },
  }
}

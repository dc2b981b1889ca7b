import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent } from '../../src/contract/events.ts'
import type { LoadRecord } from '../../src/contract/load-record.ts'
import { databasePath, type Home, homeAt } from '../../src/files/home.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { openStore, type Store } from '../../src/store/open-store.ts'
import { ManualClock } from './manual-clock.ts'

/** A home of its own in which stores are opened, one after the other. */
export interface StoreHome {
  readonly home: Home
  /** hal0.db. */
  readonly path: string
  readonly clock: ManualClock
  /** What stores said on the bus, in order. */
  readonly events: NewEvent[]
  open(): Store
  /** Closes all stores and removes the home. */
  remove(): void
}

export function storeHome(): StoreHome {
  const folder = mkdtempSync(join(tmpdir(), 'hal0-store-'))
  const home = homeAt(folder)
  mkdirSync(home.varLib, { recursive: true })
  const clock = new ManualClock()
  const events: NewEvent[] = []
  const stores: Store[] = []
  return {
    home,
    path: databasePath(home),
    clock,
    events,
    open() {
      const store = openStore(home, { log: silentLog, clock, publish: (event) => events.push(event) })
      stores.push(store)
      return store
    },
    remove() {
      for (const store of stores) store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** The nth load of a slot, begun n seconds into 2026. */
export function loadRecord(slot: string, n: number, more: Partial<LoadRecord> = {}): LoadRecord {
  return {
    slot,
    attempt_id: `${slot}-${n}`,
    model_id: 'org/name.q8',
    profile: 'chat',
    begun_at: new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString(),
    took_ms: n,
    phases: { spawn: 1.5, warm: n },
    outcome: 'ready',
    code: null,
    ...more,
  }
}

/** The attempts of records, in their order. */
export const attempts = (records: readonly LoadRecord[]): string[] => records.map(({ attempt_id }) => attempt_id)

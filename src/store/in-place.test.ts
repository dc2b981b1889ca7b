import { renameSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { attempts, loadRecord, type StoreHome, storeHome } from '../../test/support/store-harness.ts'
import { durably, soon } from './durably.ts'
import { placeProblem, requireInPlace } from './in-place.ts'
import type { Store } from './open-store.ts'
import { FLUSH_AFTER_MS, RETRY_AFTER_MS } from './write-later.ts'

let place: StoreHome
let store: Store
beforeEach(() => {
  place = storeHome()
  store = place.open()
})
afterEach(() => place.remove())

const types = () => place.events.map(({ type }) => type)
function dbOf({ db }: Store): Database {
  if (db === undefined) throw new Error('the store did not open')
  return db
}

const GONE: readonly [string, () => void, string][] = [
  ['deleted', () => rmSync(place.path), 'deleted'],
  ['moved away', () => renameSync(place.path, `${place.path}.away`), 'moved away'],
  [
    'replaced',
    () => {
      writeFileSync(`${place.path}.new`, '')
      renameSync(`${place.path}.new`, place.path)
    },
    'replaced',
  ],
]

// SQLite goes on writing into a file without a name, and all of it was lost with the daemon.
it.each(GONE)('%s: nothing is written, and status says so at once', (_what, lose, word) => {
  const db = dbOf(store)
  expect([placeProblem(db), store.problem]).toEqual([undefined, undefined])
  lose()
  expect(store.problem).toContain(word)
  let isRun = false
  const work = () => {
    isRun = true
  }
  for (const write of [durably, soon]) {
    expect(() => write(db, work)).toThrow(expect.objectContaining({ code: 'SQLITE_READONLY_DBMOVED' }))
  }
  expect(isRun).toBe(false)
})

it('the history waits, which is told once, and is written when the file is back', async () => {
  renameSync(place.path, `${place.path}.away`)
  for (const n of [1, 2]) {
    store.loads.record(loadRecord('agent', n))
    await place.clock.advance(FLUSH_AFTER_MS)
  }
  expect(types()).toEqual(['store.off'])
  renameSync(`${place.path}.away`, place.path)
  await place.clock.advance(RETRY_AFTER_MS)
  expect([types(), store.problem]).toEqual([['store.off', 'store.on'], undefined])
  store.close()
  expect(attempts(place.open().loads.recent('agent', 9))).toEqual(['agent-2', 'agent-1'])
})

it('a database that hal0 did not open under a name is left alone', () => {
  const db = new Sqlite(':memory:')
  expect(() => requireInPlace(db)).not.toThrow()
  db.close()
})

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attempts, loadRecord, type StoreHome, storeHome } from '../../test/support/store-harness.ts'
import { FLUSH_AFTER_MS, RETRY_AFTER_MS } from './write-later.ts'

let place: StoreHome
beforeEach(() => {
  place = storeHome()
})
afterEach(() => place.remove())

const types = () => place.events.map(({ type }) => type)
const flush = () => place.clock.advance(FLUSH_AFTER_MS)
const files = () => readdirSync(dirname(place.path)).toSorted()
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** A file with one load in it, closed. */
function fill(): void {
  const store = place.open()
  store.loads.record(loadRecord('agent', 1))
  store.close()
}

describe('a new file', () => {
  it('is for its owner only, with what SQLite puts beside it', () => {
    const store = place.open()
    store.loads.record(loadRecord('agent', 1))
    expect(store.db?.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(files()).toEqual(['hal0.db', 'hal0.db-shm', 'hal0.db-wal'])
    for (const file of files()) expect(modeOf(`${dirname(place.path)}/${file}`)).toBe('600')
    expect([store.problem, types()]).toEqual([undefined, []])
  })

  it('is made for its owner again when somebody opened it up', () => {
    writeFileSync(place.path, '', { mode: 0o644 })
    place.open()
    expect(modeOf(place.path)).toBe('600')
  })
})

describe('a damaged file', () => {
  const damages: readonly [string, (bytes: Buffer) => Buffer][] = [
    ['no database at all', () => Buffer.from('this is no database, it is a letter to my aunt\n'.repeat(100))],
    ['its second half overwritten', (bytes) => Buffer.from(bytes).fill(0xa5, Math.floor(bytes.length / 2))],
    ['cut off', (bytes) => bytes.subarray(0, bytes.length - 4096)],
  ]

  it.each(damages)('%s: is kept aside, and a new one begins', async (_, spoil) => {
    fill()
    const bad = spoil(readFileSync(place.path))
    writeFileSync(place.path, bad)
    writeFileSync(`${place.path}.bad-1`, 'of another time')
    const store = place.open()
    expect(types()).toEqual(['store.damaged'])
    expect(place.events[0]?.message).toMatch(/hal0\.db was damaged \(.+\); it is kept as .*hal0\.db\.bad-2/)
    expect(readFileSync(`${place.path}.bad-2`)).toEqual(bad)
    expect(readFileSync(`${place.path}.bad-1`, 'utf8')).toBe('of another time')
    store.loads.record(loadRecord('agent', 2))
    await flush()
    expect([attempts(store.loads.recent('agent', 9)), store.problem]).toEqual([['agent-2'], undefined])
  })

  it('found while it is used: history is off, told once, and the next start begins anew', async () => {
    const store = place.open()
    await flush()
    // Somebody writes over the live file.
    store.db?.pragma('wal_checkpoint(TRUNCATE)')
    store.db?.pragma('cache_size = 0')
    store.db?.pragma('shrink_memory')
    const size = statSync(place.path).size
    writeFileSync(place.path, Buffer.alloc(size, 0xa5), { flag: 'r+' })
    for (let n = 0; n < 3; n++) {
      store.loads.record(loadRecord('agent', n))
      await flush()
    }
    expect(types()).toEqual(['store.off'])
    expect(attempts(store.loads.recent('agent', 9))).toEqual(['agent-2', 'agent-1', 'agent-0'])
    store.close()
    expect(place.open().problem).toBeUndefined()
    expect(types()).toEqual(['store.off', 'store.damaged'])
  })
})

describe('a file that cannot be used', () => {
  it('a folder in its place: history lives in memory, told once, nothing is touched', async () => {
    mkdirSync(place.path)
    const store = place.open()
    for (let n = 0; n < 3; n++) {
      store.loads.record(loadRecord('agent', n))
      await flush()
    }
    expect([types(), store.db]).toEqual([['store.off'], undefined])
    expect(store.problem).toMatch(/EISDIR|directory/)
    expect(attempts(store.loads.recent('agent', 2))).toEqual(['agent-2', 'agent-1'])
    expect([files(), place.clock.pendingTimers]).toEqual([[basename(place.path)], 0])
  })

  it('another program’s database: it is left as it is', () => {
    const other = new Sqlite(place.path)
    other.exec('CREATE TABLE loads (mine TEXT); CREATE TABLE notes (x TEXT)')
    other.close()
    const store = place.open()
    expect([types(), store.problem]).toEqual([['store.off'], 'table loads already exists'])
    expect(existsSync(`${place.path}.bad-1`)).toBe(false)
  })

  it('tables that somebody has removed', () => {
    fill()
    const hand = new Sqlite(place.path)
    hand.exec('DROP TABLE loads')
    hand.close()
    const store = place.open()
    store.loads.record(loadRecord('agent', 1))
    expect([types(), attempts(store.loads.recent('agent', 1))]).toEqual([['store.off'], ['agent-1']])
  })

  it('a newer hal0 has written it: refused', () => {
    fill()
    const newer = new Sqlite(place.path)
    newer.exec("INSERT INTO migrations VALUES (99, 'to come', '7.0.0', 0)")
    newer.close()
    expect(() => place.open()).toThrow(/has schema 99, written by hal0 7\.0\.0/)
    expect(files()).toEqual(['hal0.db'])
  })
})

describe('a disk that takes no more', () => {
  const outages: readonly [string, string, string, RegExp][] = [
    ['full', 'max_page_count = 1', 'max_page_count = 100000', /full/],
    ['read-only', 'query_only = 1', 'query_only = 0', /readonly/],
  ]

  it.each(outages)(
    '%s: told once, tried again each minute, and all of it is written then',
    async (_, on, off, says) => {
      const store = place.open()
      store.db?.pragma(on)
      const big = { profile: 'x'.repeat(50_000) }
      store.loads.record(loadRecord('agent', 1, big))
      await flush()
      expect([types(), place.clock.nextTimerInMs]).toEqual([['store.off'], RETRY_AFTER_MS])
      expect(store.problem).toMatch(says)
      for (const n of [2, 3]) {
        store.loads.record(loadRecord('agent', n, big))
        await place.clock.advance(RETRY_AFTER_MS)
      }
      expect(types()).toEqual(['store.off'])
      expect(attempts(store.loads.recent('agent', 9))).toEqual(['agent-3', 'agent-2', 'agent-1'])
      store.db?.pragma(off)
      await place.clock.advance(RETRY_AFTER_MS)
      expect([types(), store.problem]).toEqual([['store.off', 'store.on'], undefined])
      store.close()
      expect(attempts(place.open().loads.recent('agent', 9))).toEqual(['agent-3', 'agent-2', 'agent-1'])
    },
  )

  it('busy for a moment: nothing is said and nothing is lost; busy for long: it is told', async () => {
    const store = place.open()
    const other = new Sqlite(place.path)
    other.exec('BEGIN IMMEDIATE')
    store.loads.record(loadRecord('agent', 1))
    await place.clock.advance(5 * FLUSH_AFTER_MS)
    expect(types()).toEqual([])
    expect(attempts(store.loads.recent('agent', 1))).toEqual(['agent-1'])
    await place.clock.advance(RETRY_AFTER_MS)
    expect(types()).toEqual(['store.off'])
    other.exec('ROLLBACK')
    other.close()
    await place.clock.advance(RETRY_AFTER_MS)
    expect([types(), store.problem]).toEqual([['store.off', 'store.on'], undefined])
  })
})

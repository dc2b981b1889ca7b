import Sqlite, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../test/support/failure.ts'
import { MIGRATIONS, type Migration, migrate } from './migrations.ts'

let db: Database
beforeEach(() => {
  db = new Sqlite(':memory:')
})
afterEach(() => void db.close())

const options = { nowMs: 1_000, version: '1.2.3', path: '/home/hal0.db' }
const first: Migration = { number: 1, title: 'first', sql: 'CREATE TABLE one (x TEXT)' }
const second: Migration = { number: 2, title: 'second', sql: 'CREATE TABLE two (x TEXT)' }
const rows = () => db.prepare('SELECT number, title, hal0_version AS by, applied_at_ms AS at FROM migrations').all()

describe('the schema', () => {
  it('is numbered without holes', () => {
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1))
  })

  it('is built step by step, and then left alone', () => {
    expect(migrate(db, { ...options, migrations: [first] })).toEqual([1])
    expect(migrate(db, { ...options, nowMs: 2_000, version: '1.3.0', migrations: [first, second] })).toEqual([2])
    expect(migrate(db, { ...options, migrations: [first, second] })).toEqual([])
    expect(rows()).toEqual([
      { number: 1, title: 'first', by: '1.2.3', at: 1_000 },
      { number: 2, title: 'second', by: '1.3.0', at: 2_000 },
    ])
  })

  it('keeps the steps before one that fails, and nothing of that one', () => {
    const broken = { ...second, sql: 'CREATE TABLE two (x TEXT); CREATE TABLE one (x TEXT)' }
    expect(() => migrate(db, { ...options, migrations: [first, broken] })).toThrow(/already exists/)
    expect(rows()).toMatchObject([{ number: 1 }])
    expect(migrate(db, { ...options, migrations: [first, second] })).toEqual([2])
  })

  it('of a newer hal0 is refused, and not touched', async () => {
    migrate(db, { ...options, version: '9.9.9', migrations: [first, second] })
    const changes = db.prepare('SELECT total_changes()').pluck()
    const before = changes.get()
    const refused = await failure((async () => migrate(db, { ...options, migrations: [first] }))())
    expect(refused).toMatchObject({
      code: 'config.invalid',
      message: '/home/hal0.db has schema 2, written by hal0 9.9.9; this is hal0 1.2.3, which knows schemas up to 1',
      details: { schema: 2, known_schema: 1, remedy: expect.stringContaining('Start hal0 9.9.9 or a later one') },
    })
    expect(changes.get()).toBe(before)
  })
})

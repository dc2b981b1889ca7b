import Database from 'better-sqlite3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { silentLog } from '../kernel/log.ts'
import { openManualStore } from './manual-store.ts'

it('a table that cannot be read holds up nobody, and is told of', () => {
  const db = new Database(':memory:')
  const warn = vi.spyOn(silentLog, 'warn')
  onTestFinished(() => {
    warn.mockRestore()
    db.close()
  })
  const store = openManualStore(db, silentLog)
  expect([store.find('gpu0'), warn.mock.calls]).toEqual([
    undefined,
    [[{ reason: 'no such table: lane_manual' }, expect.stringContaining('by hand')]],
  ])
  const choice = { target: { kind: 'nothing' }, madeAtMs: 1, madeBy: 'ada', untilMs: undefined } as const
  expect(() => store.set('gpu0', choice)).toThrow(expect.objectContaining({ code: 'lane.store_unavailable' }))
})

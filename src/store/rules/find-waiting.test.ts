import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LoadRecord } from '../../contract/load-record.ts'
import { findWaiting, type HistoryChange } from './find-waiting.ts'

const record = (slot: string, attemptId: string): LoadRecord => ({
  slot,
  attempt_id: attemptId,
  model_id: 'hello',
  profile: null,
  begun_at: '2026-01-01T00:00:00.000Z',
  took_ms: 1,
  phases: {},
  outcome: 'ready',
  code: null,
})
const add = (slot: string, attemptId: string): HistoryChange => ({ kind: 'add', record: record(slot, attemptId) })
const rename = (from: string, to: string): HistoryChange => ({ kind: 'rename', from, to })
const forget = (slot: string): HistoryChange => ({ kind: 'forget', slot })

describe('what waits of a slot’s history', () => {
  it.each<[string, HistoryChange[], string[], string | undefined]>([
    ['nothing', [], [], 'a'],
    ['its own, newest first', [add('a', '1'), add('b', '2'), add('a', '3')], ['3', '1'], 'a'],
    ['under the old name before a rename', [add('b', '1'), rename('b', 'a'), add('a', '2')], ['2', '1'], 'b'],
    ['through two renames', [add('c', '1'), rename('c', 'b'), rename('b', 'a')], ['1'], 'c'],
    ['what had the name before a rename is gone', [add('a', '1'), rename('b', 'a')], [], 'b'],
    ['a new slot under a name that moved away', [add('a', '1'), rename('a', 'b'), add('a', '2')], ['2'], undefined],
    ['a new slot under a deleted name', [add('a', '1'), forget('a'), add('a', '2')], ['2'], undefined],
    ['deleted', [add('a', '1'), forget('a')], [], undefined],
    ['another slot was deleted', [add('a', '1'), forget('b')], ['1'], 'a'],
    ['renamed to its own name', [add('a', '1'), rename('a', 'a')], ['1'], 'a'],
  ])('%s', (_, changes, attempts, nameInFile) => {
    const waiting = findWaiting(changes, 'a')
    expect([waiting.records.map(({ attempt_id }) => attempt_id), waiting.nameInFile]).toEqual([attempts, nameInFile])
  })

  it('is what carrying the changes out one by one leaves, for every order of them', () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const change = fc.oneof(
      fc.tuple(name, fc.uuid()).map(([slot, id]) => add(slot, id)),
      fc.tuple(name, name).map(([from, to]) => rename(from, to)),
      name.map(forget),
    )
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), name, (changes, slot) => {
        const { records, nameInFile } = findWaiting(changes, slot)
        const inFile = nameInFile === undefined ? [] : [`file ${nameInFile}`]
        const seen = [...records.map((one) => one.attempt_id), ...inFile]
        expect(seen).toEqual(carryOut(changes).get(slot) ?? [])
        for (const one of records) expect(one.slot).toBe(slot)
      }),
    )
  })
})

/** Newest first, by slot; `file a` stands for what the file had of slot a before. */
function carryOut(changes: readonly HistoryChange[]): ReadonlyMap<string, string[]> {
  const bySlot = new Map(['a', 'b', 'c'].map((slot) => [slot, [`file ${slot}`]]))
  for (const change of changes) {
    if (change.kind === 'add') {
      const { slot, attempt_id: id } = change.record
      bySlot.set(slot, [id, ...(bySlot.get(slot) ?? [])])
    } else if (change.kind === 'forget') bySlot.delete(change.slot)
    else if (change.from !== change.to) {
      bySlot.set(change.to, bySlot.get(change.from) ?? [])
      bySlot.delete(change.from)
    }
  }
  return bySlot
}

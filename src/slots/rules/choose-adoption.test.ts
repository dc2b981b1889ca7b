import { expect, it } from 'vitest'
import type { LaunchRecord } from '../../contract/launch-record.ts'
import type { SlotState, SlotStateRecord } from '../../contract/slot-state.ts'
import { chooseAdoption, type SurvivorFacts } from './choose-adoption.ts'

const ref = { pid: 7, start_ticks: 70 }
const launch = { version: 1, slot: 's', attempt_id: 'a1' } as unknown as LaunchRecord

function record(state: SlotState, extra: SlotStateRecord['extra']): SlotStateRecord {
  return { name: 's', state, model_id: 'm', port: 1, updated_at: '', message: '', extra }
}
const live = record('ready', { attempt_id: 'a1', process: { ...ref, boot_id: 'b' }, sanity: 'passed' })
const facts: SurvivorFacts = { attemptId: 'a1', ref, hasFile: true, record: live, launch }

it.each([
  ['the one that was ready', {}, { kind: 'adopt', known: 'passed' }],
  ['busy when the daemon died', { record: record('serving', live.extra) }, { kind: 'adopt', known: 'passed' }],
  ['still warming', { record: record('warming', { attempt_id: 'a1' }) }, { kind: 'adopt', known: undefined }],
  ['its start was not written down yet', { record: record('offline', {}) }, { kind: 'adopt', known: undefined }],
  ['no record at all', { record: undefined }, { kind: 'adopt', known: undefined }],
  ['no slot file', { hasFile: false }, { kind: 'end' }],
  ['no launch', { launch: undefined }, { kind: 'end' }],
  ['a later start', { attemptId: 'a0' }, { kind: 'end' }],
  ['was being stopped', { record: record('unloading', live.extra) }, { kind: 'end' }],
  ['its load was being given up', { record: record('warming', { attempt_id: 'a1', stopping: true }) }, { kind: 'end' }],
  ['answered garbage', { record: record('error', { attempt_id: 'a1' }) }, { kind: 'end' }],
  ['another pid', { ref: { pid: 8, start_ticks: 70 } }, { kind: 'end' }],
  ['a recycled pid', { ref: { pid: 7, start_ticks: 71 } }, { kind: 'end' }],
] as const)('%s', (_name, change, expected) => {
  expect(chooseAdoption({ ...facts, ...change })).toMatchObject(expected)
})

import { expect, it } from 'vitest'
import { LANE } from '../../../test/support/lane-answers.ts'
import type { LaneRow } from '../../contract/lane.ts'
import { laneStanding } from './lane-standing.ts'

const HELLO = { kind: 'model', model: 'hello', profile: 'chat' } as const
const NEW: LaneRow = { ...LANE, phase: 'loading', target: HELLO, reason: 'default', is_fallback: false, failures: [] }
const FAILURE = { ...LANE.failures[0], target: HELLO } as LaneRow['failures'][number]

it.each<readonly [string, Partial<LaneRow>, string]>([
  ['it has not looked yet', { phase: 'off' }, 'working'],
  ['it loads', {}, 'working'],
  ['it runs', { phase: 'ready' }, 'ready'],
  ['it is to run nothing', { phase: 'off', target: { kind: 'nothing' } }, 'ready'],
  ['it failed', { phase: 'waiting', failures: [FAILURE] }, 'failed'],
  ['it failed, and is tried again', { failures: [FAILURE] }, 'failed'],
  ['it runs after a failure', { phase: 'ready', failures: [FAILURE] }, 'ready'],
  ['another model failed', { failures: [{ ...FAILURE, target: { ...HELLO, model: 'big' } }] }, 'working'],
  ['another profile failed', { failures: [{ ...FAILURE, target: { ...HELLO, profile: 'coding' } }] }, 'working'],
  ['its file is wrong', { phase: 'ready', config_problem: 'gpus: expected a list' }, 'failed'],
])('%s: %j', (_name, change, kind) => {
  expect(laneStanding({ ...NEW, ...change }).kind).toBe(kind)
})

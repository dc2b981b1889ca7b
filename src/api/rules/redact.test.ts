import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { laneFailureSchema, laneRowSchema } from '../../contract/lane.ts'
import { modelRowSchema } from '../../contract/model.ts'
import { routeExplanationSchema } from '../../contract/route-explanation.ts'
import { slotRowSchema } from '../../contract/slot-row.ts'
import { slotFailureSchema } from '../../contract/slot-state.ts'
import { statusSchema } from '../../contract/status.ts'
import { generalRemedy, HIDDEN, hideFailure, redact } from './redact.ts'
import { EXPLANATION_TOLD, redactExplanation } from './redact-explanation.ts'
import { LANE_FAILURE_TOLD, LANE_TOLD, redactLane } from './redact-lane.ts'
import { MODEL_TOLD } from './redact-model.ts'
import { FAILURE_TOLD, redactSlot, SLOT_TOLD } from './redact-slot.ts'
import { STATUS_TOLD } from './redact-status.ts'

interface Case {
  readonly name: string
  readonly schema: z.ZodObject
  readonly told: Readonly<Record<string, unknown>>
  /** Keys that hold paths, environment or log lines, in themselves or below. */
  readonly hidden: readonly string[]
}

const cases: readonly Case[] = [
  { name: 'slot', schema: slotRowSchema, told: SLOT_TOLD, hidden: ['config_problem', 'failure', 'message'] },
  { name: 'failure of a slot', schema: slotFailureSchema, told: FAILURE_TOLD, hidden: ['line', 'message', 'remedy'] },
  {
    name: 'model',
    schema: modelRowSchema,
    told: MODEL_TOLD,
    hidden: ['chat_template', 'drafter', 'files', 'missing', 'mmproj', 'path', 'problem'],
  },
  { name: 'lane', schema: laneRowSchema, told: LANE_TOLD, hidden: ['config_problem', 'failures', 'store_problem'] },
  { name: 'failure of a lane', schema: laneFailureSchema, told: LANE_FAILURE_TOLD, hidden: ['message'] },
  {
    name: 'status',
    schema: statusSchema,
    told: STATUS_TOLD,
    hidden: ['history_problem', 'home', 'notify_problem', 'settings_problem'],
  },
  { name: 'explanation', schema: routeExplanationSchema, told: EXPLANATION_TOLD, hidden: ['error'] },
]

/** Names that speak of files, programs, environment or output. */
const SUSPICIOUS =
  /path|file|dir|folder|home|env|argv|command|log|line|stderr|output|message|problem|mmproj|drafter|template|secret|password/
/** Looked at: they hold ids, keys of settings or what the caller said. */
const HARMLESS = new Set(['file_model_id', 'hf_filename', 'profile', 'preferred_profile', 'explanation path'])

describe.each(cases)('$name', ({ name, schema, told, hidden }) => {
  it('is decided key by key', () => {
    expect(Object.keys(told).toSorted()).toEqual(Object.keys(schema.shape).toSorted())
    const changed = Object.entries(told).filter(([, decision]) => decision !== 'told')
    expect(changed.map(([key]) => key).toSorted()).toEqual(hidden)
  })

  it('tells nothing whose name speaks of files or output', () => {
    const open = Object.keys(told).filter((key) => told[key] === 'told' && SUSPICIOUS.test(key))
    expect(open.filter((key) => !HARMLESS.has(key) && !HARMLESS.has(`${name} ${key}`))).toEqual([])
  })

  it('says nothing of what hidden keys hold', () => {
    // Each key holds a text that names it, in the shape that the decisions expect.
    const holding = (key: string): unknown => {
      if (key === 'failure') return { code: 'internal', cause: null, message: 'X', line: 'X', remedy: 'X', at: '' }
      if (key === 'failures' && name === 'lane') return [{ message: 'X' }]
      if (key === 'error') return { status: 503, code: 'slot.config_error', message: 'X', remedy: 'X' }
      if (key === 'files' || key === 'missing') return ['X']
      return hidden.includes(key) ? 'X' : key === 'code' ? 'internal' : key === 'cause' ? null : 'told'
    }
    const row = Object.fromEntries(Object.keys(told).map((key) => [key, holding(key)]))
    const text = JSON.stringify(redact(row, told as Parameters<typeof redact<typeof row>>[1]))
    expect(text).not.toContain('"X"')
  })
})

describe('what stands in their place', () => {
  const FAILURE = { code: 'slot.spawn_failed', message: '/x', line: '/x', remedy: '/x', at: '' }
  type Row = Parameters<typeof redactSlot>[0]
  const slot = (failure: object | null) => redactSlot({ failure, message: 'serves /x', config_problem: null } as Row)

  it.each([
    ['out_of_memory', 'It ran out of memory. Administrators see the details.'],
    [null, 'Its engine did not start, or ended by itself. Administrators see the details.'],
  ])('a failure for %s', (cause, message) => {
    expect(slot({ ...FAILURE, cause })).toMatchObject({
      message,
      failure: { code: 'slot.spawn_failed', cause, message, line: null, remedy: generalRemedy('slot.spawn_failed') },
    })
  })

  it('the code alone where it says nothing in plain words', () => {
    expect(hideFailure({ code: 'constructor' })).toBe(HIDDEN)
  })

  it('the thing that is wrong, for a lane', () => {
    const failure = { target: { kind: 'nothing' }, failures: 1, code: 'slot.health_failed', cause: null, message: '/x' }
    const row = { config_problem: '/x', store_problem: '/x', failures: [failure] }
    const told = redactLane(row as unknown as Parameters<typeof redactLane>[0])
    expect(told).toMatchObject({
      config_problem: 'Its file has a mistake. Administrators see the details.',
      failures: [{ message: 'Its engine was not ready in time, or answered no more. Administrators see the details.' }],
    })
    expect(JSON.stringify(told)).not.toContain('/x')
  })

  it('nothing where there is nothing to say', () => {
    expect(slot(null)).toMatchObject({ message: '', failure: null, config_problem: null })
  })

  it.each([
    ['slot.config_error', HIDDEN],
    ['model_not_found', 'said'],
    ['dispatch.no_route', 'said'],
  ])('an explanation of %s', (code, message) => {
    const error = { status: 404, code, message: 'said', remedy: 'do' }
    const told = redactExplanation({ error } as Parameters<typeof redactExplanation>[0])
    expect(told.error).toMatchObject({ code, message })
  })

  it('a code that is not in the registry has no remedy of its own', () => {
    expect(generalRemedy('constructor')).toBe(HIDDEN)
  })
})

import { describe, expect, it } from 'vitest'
import { SLOT_STATES, type SlotState } from '../../contract/slot-state.ts'
import { nextState, OBSERVED_EVENTS, REQUESTED_EVENTS } from './slot-events.ts'
import { isLegalTransition, LEGAL_TRANSITIONS } from './transitions.ts'

/** The table of SPEC 4, written out once more by hand: rows from, columns to. */
const TABLE = `
            offline pulling starting warming ready serving idle unloading error
  offline      .       x       x        .      .      .     .      .        .
  pulling      x       .       x        .      .      .     .      .        x
  starting     x       .       .        x      .      .     .      .        x
  warming      x       .       .        .      x      .     x      .        x
  ready        .       .       .        .      .      x     x      x        x
  serving      .       .       .        .      x      .     x      .        x
  idle         .       .       .        .      x      x     .      x        .
  unloading    x       .       .        .      .      .     .      .        x
  error        x       x       x        .      .      .     .      .        .`

/** The state × event grid by hand: `-` illegal, `!` forced. */
const GRID = `
                     offline   pulling   starting  warming   ready      serving  idle       unloading error
  pull_begun         pulling   -         -         -         -          -        -          -         pulling
  start_begun        starting  starting  -         -         -          -        -          -         starting
  process_started    -         -         warming   -         -          -        -          -         -
  became_ready       -         -         -         ready     -          -        ready      -         -
  no_model_listed    -         -         -         idle      -          -        -          -         -
  first_lease_taken  -         -         -         -         serving    -        serving    -         -
  last_lease_ended   -         -         -         -         -          ready    -          -         -
  went_quiet         -         -         -         -         idle       -        -          -         -
  stop_begun         -         -         -         -         unloading  -        unloading  -         -
  stopped            -         offline   offline   offline   -          -        -          offline   offline
  load_failed        -         error     error     error     -          -        -          -         -
  stop_failed        -         -         -         -         -          -        -          error     -
  process_died       error!    error     error     error     error      error    error!     error     error!
  process_vanished   offline!  offline   offline   offline   offline!   offline! offline!   offline   offline
  found_ready        ready!    ready!    ready!    ready     ready!     ready    ready      ready!    ready!
  found_warming      warming!  warming!  warming   warming!  warming!   warming! warming!   warming!  warming!`

function readTable(text: string): { columns: string[]; rows: Map<string, string[]> } {
  const [head = '', ...lines] = text.trim().split('\n')
  const rows = new Map(
    lines.map((line) => {
      const [name = '', ...cells] = line.trim().split(/\s+/)
      return [name, cells]
    }),
  )
  return { columns: head.trim().split(/\s+/), rows }
}

describe('the transition table', () => {
  const { columns, rows } = readTable(TABLE)
  it('covers every state', () => {
    expect(columns).toEqual([...SLOT_STATES])
    expect([...rows.keys()]).toEqual([...SLOT_STATES])
  })
  it.each(SLOT_STATES.flatMap((from) => SLOT_STATES.map((to) => [from, to] as const)))('%s → %s', (from, to) => {
    expect(isLegalTransition(from, to)).toBe(rows.get(from)?.[columns.indexOf(to)] === 'x')
  })
})

describe('state × event', () => {
  const { columns, rows } = readTable(GRID)
  const events = [...REQUESTED_EVENTS, ...OBSERVED_EVENTS]
  it('covers every state and every event', () => {
    expect(columns).toEqual([...SLOT_STATES])
    expect([...rows.keys()]).toEqual(events)
  })
  it.each(events.flatMap((event) => SLOT_STATES.map((state) => [state, event] as const)))(
    '%s on %s',
    (state, event) => {
      const cell = rows.get(event)?.[columns.indexOf(state)]
      const found = nextState(state, event)
      expect(found.kind === 'illegal' ? '-' : `${found.to}${found.forced ? '!' : ''}`).toBe(cell)
    },
  )
})

describe('the shape of the life', () => {
  it('lets every state reach offline and ready by legal steps', () => {
    for (const goal of ['offline', 'ready'] as const) {
      for (const start of SLOT_STATES) expect([start, reachable(start).has(goal)]).toEqual([start, true])
    }
  })
})

function reachable(start: SlotState): Set<SlotState> {
  const seen = new Set<SlotState>([start])
  for (const state of seen) for (const next of LEGAL_TRANSITIONS[state]) seen.add(next)
  return seen
}

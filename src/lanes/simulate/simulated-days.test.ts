import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import { playScenario } from './play-scenario.ts'
import { parseScenario } from './read-scenario.ts'
import type { SimulationReport } from './simulation.ts'

const START_MS = Date.UTC(2026, 11, 1)
const STOP_S = 2

/** Models by name: how long their loads are thought to take before the first, and really take, s. */
const MODELS = { small: { sizeGb: 1.5, loadS: 25 }, big: { sizeGb: 9, loadS: 60 }, huge: { sizeGb: 30, loadS: 200 } }
type Use = keyof typeof MODELS | 'exclusive'

interface Planned {
  readonly gapS: number
  readonly lengthS: number
  readonly use: Use
}

const planned: fc.Arbitrary<Planned> = fc.record({
  gapS: fc.oneof(fc.constantFrom(0, 1, 30, 90, 180, 240, 300, 600), fc.nat(1_500)),
  lengthS: fc.integer({ min: 900, max: 3_000 }),
  use: fc.constantFrom('small', 'big', 'huge', 'exclusive'),
})

interface Booked extends Planned {
  readonly id: string
  readonly startMs: number
  readonly endMs: number
}

/** One after another, from an hour after the start on. */
function calendarOf(plans: readonly Planned[]): readonly Booked[] {
  let endMs = START_MS + 60 * MINUTE_MS
  return plans.map((plan, n) => {
    const startMs = endMs + plan.gapS * SECOND_MS
    endMs = startMs + plan.lengthS * SECOND_MS
    return { ...plan, id: `b${n}`, startMs, endMs }
  })
}

async function play(bookings: readonly Booked[], hasDefault: boolean): Promise<SimulationReport> {
  const endMs = Math.max(START_MS, ...bookings.map((booking) => booking.endMs)) + 30 * MINUTE_MS
  const text = [
    `start = "${isoTime(START_MS)}"\nend = "${isoTime(endMs)}"\nstop_s = ${STOP_S}`,
    ...Object.entries(MODELS).map(
      ([name, { sizeGb, loadS }]) => `[models.${name}]\nsize_gb = ${sizeGb}\nload_s = ${loadS}`,
    ),
    '[users.ada]\nrole = "admin"',
    `[lanes.gpu0]\nallow_exclusive = true${hasDefault ? '\ndefault = { model = "small" }' : ''}`,
    ...bookings.map(({ id, startMs, endMs: untilMs, use }) => {
      const what = use === 'exclusive' ? 'exclusive = true' : `model = "${use}"`
      return `[[bookings]]\nid = "${id}"\nlane = "gpu0"\nuser = "ada"\nstart = "${isoTime(startMs)}"\nend = "${isoTime(untilMs)}"\n${what}`
    }),
  ].join('\n')
  const scenario = parseScenario('day.toml', text)
  if (!scenario.ok) throw new Error(JSON.stringify(scenario.error))
  return await playScenario(scenario.value)
}

type LaneEntry = Extract<SimulationReport['timeline'][number], { readonly kind: 'lane' }>

/** How the lane stands at a moment, its changes of that moment done. */
function standingAt({ timeline }: SimulationReport, ms: number): LaneEntry | undefined {
  return timeline.findLast((entry): entry is LaneEntry => entry.kind === 'lane' && Date.parse(entry.at) <= ms)
}

describe('over random calendars whose loads succeed and fit the estimate', () => {
  it('holders find their model ready, exclusive windows are empty, and a boundary is one switch at most', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(planned, { maxLength: 6 }), fc.boolean(), async (plans, hasDefault) => {
        const bookings = calendarOf(plans)
        const report = await play(bookings, hasDefault)
        expect(report.timeline.filter(({ kind }) => kind === 'refused' || kind === 'failure')).toEqual([])
        for (const [n, { id, gapS, startMs, endMs, use }] of bookings.entries()) {
          const [current, needS] = use === 'exclusive' ? [{ kind: 'nothing' }, 0] : [{ model: use }, MODELS[use].loadS]
          // What there was no time for before the start is there soon after.
          const isInTime = gapS >= STOP_S + needS || bookings[n - 1]?.use === use || n === 0
          const readyMs = isInTime ? startMs : startMs + (STOP_S + needS) * SECOND_MS
          const reason = use === 'exclusive' ? 'exclusive' : 'reserved'
          const expected = { phase: use === 'exclusive' ? 'off' : 'ready', current, reason, reservation: id }
          expect(standingAt(report, readyMs)).toMatchObject(expected)
          expect(standingAt(report, endMs - 1)).toMatchObject(expected)
          const between = report.timeline.filter(({ kind, at }) => {
            return kind === 'lane' && readyMs < Date.parse(at) && Date.parse(at) < endMs
          })
          expect(between).toEqual([])
        }
        // To each booking, from it to the default where there is a gap, and to the default at the beginning.
        const boundaries = bookings.length + bookings.filter((_, n) => (bookings[n + 1]?.gapS ?? 1) > 0).length
        expect(report.lanes[0]?.switches).toBeLessThanOrEqual(boundaries + 1)
      }),
      { numRuns: 60 },
    )
  })
})

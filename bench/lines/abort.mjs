// A client leaves: how long until the engine has noticed.
import { percentile } from '../lib/stats.mjs'
import { addErrors, chatBody, headersFor, interleave, runJob } from '../lib/work.mjs'

/** Phase of the client, prefix of the numbers, what the engine is asked for. */
const PHASES = /** @type {const} */ ([
  ['before_first_byte', 'before', 'hang'],
  ['mid_stream', 'mid', 'pace 10000 50'],
])

/** @type {import('../lib/line.mjs').Line} */
export const abort = {
  key: 'abort',
  title: 'aborts',
  measure: async ({ abortRounds, aborts: times }, bench) => {
    const stage = await bench.stage()
    /** @type {Record<string, number>} */
    const errors = {}
    const sides = await interleave(abortRounds, stage, async (target, side) => {
      /** @type {Record<string, number>} */
      const row = {}
      for (const [phase, prefix, knob] of PHASES) {
        const job = { kind: 'aborts', phase, times, body: chatBody(knob, { stream: true }), control: target.control }
        const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
        addErrors(errors, result.errors, side)
        row[`${prefix}_p50`] = percentile(result.latenciesMs, 50)
        row[`${prefix}_max`] = percentile(result.latenciesMs, 100)
      }
      return row
    })
    return { sides, errors, facts: { aborts_per_round: times } }
  },
}

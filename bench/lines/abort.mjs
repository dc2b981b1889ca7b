// A client leaves: how long until the engine has noticed. The goal is 250 ms through hal0; it gates nothing here.
import { percentile } from '../lib/stats.mjs'
import { chatBody, headersFor, interleave, runJob } from '../lib/work.mjs'

const PHASES = /** @type {const} */ ({
  before_first_byte: { stall_first_ms: -1 },
  mid_stream: { tokens_per_second: 50 },
})

/** @type {import('../lib/line.mjs').Line} */
export const abort = {
  key: 'abort',
  title: 'aborts (goal: 250 ms)',
  measure: async (stage, { rounds, aborts: times }) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const sides = await interleave(rounds, stage, async (target) => {
      /** @type {Record<string, number>} */
      const row = {}
      for (const [phase, fake] of Object.entries(PHASES)) {
        const body = chatBody({ stream: true, max_tokens: 10_000, fake })
        const place = { origin: target.origin, control: target.control, headers: headersFor(target) }
        const result = await runJob({ kind: 'aborts', phase, times, body, ...place })
        for (const [why, n] of Object.entries(result.errors)) errors[why] = (errors[why] ?? 0) + Number(n)
        row[`${phase}_p50`] = percentile(result.latenciesMs, 50)
        row[`${phase}_max`] = percentile(result.latenciesMs, 100)
      }
      return row
    })
    return {
      ...sides,
      errors,
      facts: { aborts_per_round: times },
      rows: [
        { name: 'abort seen p50, before the first byte', key: 'before_first_byte_p50', unit: 'ms' },
        { name: 'abort seen max, before the first byte', key: 'before_first_byte_max', unit: 'ms' },
        { name: 'abort seen p50, mid-stream', key: 'mid_stream_p50', unit: 'ms' },
        { name: 'abort seen max, mid-stream', key: 'mid_stream_max', unit: 'ms' },
      ],
    }
  },
}

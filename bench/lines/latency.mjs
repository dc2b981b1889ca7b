// What a proxy adds to a complete answer at a modest, fixed rate.
import { percentile } from '../lib/stats.mjs'
import { addErrors, chatBody, headersFor, interleave, runJob } from '../lib/work.mjs'

const PER_SECOND = 500

/** @type {import('../lib/line.mjs').Line} */
export const latency = {
  key: 'latency',
  title: `latency at ${PER_SECOND} requests/s`,
  measure: async ({ rounds, pacedSeconds }, bench) => {
    const stage = await bench.stage()
    /** @type {Record<string, number>} */
    const errors = {}
    const run = async (
      /** @type {import('../lib/stage.mjs').Target} */ target,
      /** @type {string} */ side,
      /** @type {number} */ seconds,
    ) => {
      const job = { kind: 'paced', perSecond: PER_SECOND, seconds, body: chatBody() }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      addErrors(errors, result.errors, side)
      return { p50: percentile(result.latenciesMs, 50), p99: percentile(result.latenciesMs, 99) }
    }
    await interleave(1, stage, (target, side) => run(target, side, 1))
    const sides = await interleave(rounds, stage, (target, side) => run(target, side, pacedSeconds))
    return { sides, errors, facts: { per_second: PER_SECOND } }
  },
}

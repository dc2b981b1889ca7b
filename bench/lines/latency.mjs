// What a proxy adds to a complete answer at a modest, fixed rate.
import { percentile } from '../lib/stats.mjs'
import { addErrors, chatBody, headersFor, runJob, thereAndBack } from '../lib/work.mjs'
import { warmUp } from '../lib/wrk.mjs'

const PER_SECOND = 500
const WARM_CONNECTIONS = 8

/** @type {import('../lib/line.mjs').Line} */
export const latency = {
  key: 'latency',
  title: `latency at ${PER_SECOND} requests/s`,
  measure: async ({ rounds, pacedSeconds, pacedWarmSeconds }, bench) => {
    const stage = await bench.stage()
    /** @type {Record<string, number>} */
    const errors = {}
    const run = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {string} */ side) => {
      const job = { kind: 'paced', perSecond: PER_SECOND, seconds: pacedSeconds, body: chatBody() }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      addErrors(errors, result.errors, side)
      return { p50: percentile(result.latenciesMs, 50), p99: percentile(result.latenciesMs, 99) }
    }
    await warmUp(stage, { connections: WARM_CONNECTIONS, seconds: pacedWarmSeconds, body: chatBody() }, errors)
    const sides = await thereAndBack(rounds, stage, run)
    return { sides, errors, facts: { per_second: PER_SECOND } }
  },
}

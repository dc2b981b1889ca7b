// What hal0 adds to a complete answer at a modest, fixed rate.
import { percentile } from '../lib/stats.mjs'
import { chatBody, headersFor, interleave, runJob } from '../lib/work.mjs'

const WANTED_PER_SECOND = 500
/** A modest rate keeps every process far from full. */
const SHARE_OF_FULL = 0.2

/** @type {import('../lib/line.mjs').Line} */
export const latency = {
  key: 'latency',
  title: 'latency at a fixed rate',
  measure: async (stage, { rounds, seconds, hal0PerSecond }) => {
    const perSecond = Math.max(10, Math.floor(Math.min(WANTED_PER_SECOND, hal0PerSecond * SHARE_OF_FULL)))
    /** @type {Record<string, number>} */
    const errors = {}
    const run = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {number} */ forSeconds) => {
      const job = { kind: 'paced', perSecond, seconds: forSeconds, body: chatBody() }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      for (const [why, n] of Object.entries(result.errors)) errors[why] = (errors[why] ?? 0) + Number(n)
      return { p50: percentile(result.latenciesMs, 50), p99: percentile(result.latenciesMs, 99) }
    }
    await interleave(1, stage, (target) => run(target, 1))
    const sides = await interleave(rounds, stage, (target) => run(target, seconds))
    const at = `at ${perSecond}/s`
    return {
      ...sides,
      errors,
      facts: { per_second: perSecond },
      rows: [
        { name: `latency p50 ${at}`, key: 'p50', unit: 'ms' },
        { name: `latency p99 ${at}`, key: 'p99', unit: 'ms' },
      ],
    }
  },
}

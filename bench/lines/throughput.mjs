// How many complete answers a second at 32 connections, as fast as it goes.
import autocannon from 'autocannon'
import { chatBody, headersFor, interleave } from '../lib/work.mjs'

const CONNECTIONS = 32

/** @type {import('../lib/line.mjs').Line} */
export const throughput = {
  key: 'throughput',
  title: `requests/s, ${CONNECTIONS} connections`,
  measure: async (stage, { rounds, seconds }) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const fire = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {number} */ duration) => {
      const result = await autocannon({
        url: `${target.origin}/v1/chat/completions`,
        method: 'POST',
        headers: headersFor(target),
        body: chatBody(),
        connections: CONNECTIONS,
        duration,
      })
      const bad = { errors: result.errors, timeouts: result.timeouts, 'not 2xx': result.non2xx }
      for (const [name, n] of Object.entries(bad)) if (n > 0) errors[name] = (errors[name] ?? 0) + n
      return { per_s: result['2xx'] / result.duration }
    }
    await interleave(1, stage, (target) => fire(target, 1))
    const sides = await interleave(rounds, stage, (target) => fire(target, seconds))
    return { ...sides, errors, rows: [{ name: 'requests/s', key: 'per_s', unit: '1/s', isMoreBetter: true }] }
  },
}

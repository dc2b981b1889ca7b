// How many complete answers a second at 32 connections, as fast as it goes.
import { addErrors, chatBody, interleave } from '../lib/work.mjs'
import { floodTarget } from '../lib/wrk.mjs'

const CONNECTIONS = 32

/** @type {import('../lib/line.mjs').Line} */
export const throughput = {
  key: 'throughput',
  title: `requests/s, ${CONNECTIONS} connections`,
  measure: async ({ rounds, seconds, warmSeconds }, bench) => {
    const stage = await bench.stage()
    /** @type {Record<string, number>} */
    const errors = {}
    const fire = async (
      /** @type {import('../lib/stage.mjs').Target} */ target,
      /** @type {string} */ side,
      /** @type {number} */ forSeconds,
    ) => {
      const result = await floodTarget(target, { connections: CONNECTIONS, seconds: forSeconds, body: chatBody() })
      addErrors(errors, result.errors, side)
      return { per_s: result.perSecond }
    }
    await interleave(1, stage, (target, side) => fire(target, side, warmSeconds))
    const sides = await interleave(rounds, stage, (target, side) => fire(target, side, seconds))
    return { sides, errors }
  },
}

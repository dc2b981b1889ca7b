// How many complete answers a second at 32 connections, as fast as it goes.
import { addErrors, chatBody, thereAndBack } from '../lib/work.mjs'
import { floodTarget, warmUp } from '../lib/wrk.mjs'

const CONNECTIONS = 32

/** @type {import('../lib/line.mjs').Line} */
export const throughput = {
  key: 'throughput',
  title: `requests/s, ${CONNECTIONS} connections`,
  measure: async ({ rounds, seconds, warmSeconds }, bench) => {
    const stage = await bench.stage()
    const load = { connections: CONNECTIONS, body: chatBody() }
    /** @type {Record<string, number>} */
    const errors = {}
    const fire = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {string} */ side) => {
      const result = await floodTarget(target, { ...load, seconds })
      addErrors(errors, result.errors, side)
      return { per_s: result.perSecond }
    }
    await warmUp(stage, { ...load, seconds: warmSeconds }, errors)
    const sides = await thereAndBack(rounds, stage, fire)
    return { sides, errors }
  },
}

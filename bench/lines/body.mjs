// A large JSON body, as images in base64 make it: send to answer.
import { median } from '../lib/stats.mjs'
import { addErrors, headersFor, interleave, runJob } from '../lib/work.mjs'

const BODY_BYTES = 20 * 1024 ** 2
const TIMES = 6

/** @type {import('../lib/line.mjs').Line} */
export const body = {
  key: 'body',
  title: 'a 20 MB JSON body',
  measure: async ({ rounds }, bench) => {
    const stage = await bench.stage()
    /** @type {Record<string, number>} */
    const errors = {}
    const run = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {string} */ side) => {
      const job = { kind: 'upload', shape: 'json', sizeBytes: BODY_BYTES, times: TIMES }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      addErrors(errors, result.errors, side)
      return { ms: median(result.timesMs.slice(1)) }
    }
    await interleave(1, stage, run)
    return { sides: await interleave(rounds, stage, run), errors, facts: { body_bytes: BODY_BYTES } }
  },
}

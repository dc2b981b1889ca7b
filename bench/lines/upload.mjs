// Audio files as multipart: what the proxy's memory grows by while they pass, and whether four times the file needs more.
import { freshRounds, watchPeak } from '../lib/memory.mjs'
import { median } from '../lib/stats.mjs'
import { addErrors, headersFor, runJob } from '../lib/work.mjs'

const BODY_BYTES = 25 * 1024 ** 2
const LARGER = 4
/** Of the small one; of the large one a single time passes as many bytes. */
const TIMES = LARGER

/** @type {import('../lib/line.mjs').Line} */
export const upload = {
  key: 'upload',
  title: 'a 25 MB audio upload',
  measure: async ({ uploadRounds }, bench) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const sides = await freshRounds(uploadRounds, bench, errors, async (target, idleKib, side) => {
      const send = async (/** @type {number} */ sizeBytes, /** @type {number} */ times) => {
        const peak = watchPeak(target.pids)
        const job = { kind: 'upload', shape: 'multipart', sizeBytes, times, path: '/v1/audio/transcriptions' }
        const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
        addErrors(errors, result.errors, side)
        return { grownMib: (peak() - idleKib) / 1024, ms: median(result.timesMs) }
      }
      const small = await send(BODY_BYTES, TIMES)
      const large = await send(BODY_BYTES * LARGER, 1)
      return { grown_mib: small.grownMib, more_mib: large.grownMib - small.grownMib, ms: small.ms }
    })
    return { sides, errors, facts: { body_bytes: BODY_BYTES, larger: LARGER } }
  },
}

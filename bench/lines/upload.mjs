// An audio file of 25 MB as multipart: what the proxy's memory grows by while it passes.
import { freshRounds, watchPeak } from '../lib/memory.mjs'
import { median } from '../lib/stats.mjs'
import { addErrors, headersFor, runJob } from '../lib/work.mjs'

const BODY_BYTES = 25 * 1024 ** 2
const TIMES = 3

/** @type {import('../lib/line.mjs').Line} */
export const upload = {
  key: 'upload',
  title: 'a 25 MB audio upload',
  measure: async ({ memoryRounds }, bench) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const sides = await freshRounds(memoryRounds, bench, errors, async (target, idleKib, side) => {
      const peak = watchPeak(target.pids)
      const job = { kind: 'upload', shape: 'multipart', sizeBytes: BODY_BYTES, times: TIMES, path: '/v1/audio/transcriptions' }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      addErrors(errors, result.errors, side)
      return { grown_mib: (peak() - idleKib) / 1024, ms: median(result.timesMs) }
    })
    return { sides, errors, facts: { body_bytes: BODY_BYTES } }
  },
}

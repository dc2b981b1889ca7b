// Streams: time to the first chunk, the age of a chunk when the client has it, and whether chunks arrive one by one.
import { percentile } from '../lib/stats.mjs'
import { addErrors, chatBody, headersFor, runJob, thereAndBack } from '../lib/work.mjs'
import { warmUp } from '../lib/wrk.mjs'

const STREAMS = 100
const PER_SECOND = 50
/** Streams start one after the other, so that they do not tick in step. */
const SPACING_MS = 7
const WARM_CONNECTIONS = 8

/** @type {import('../lib/line.mjs').Line} */
export const firstChunk = {
  key: 'first-chunk',
  title: `first chunk, ${STREAMS} streams of ${PER_SECOND} chunks/s`,
  measure: async ({ rounds, pacedSeconds, pacedWarmSeconds }, bench) => {
    const stage = await bench.stage()
    const chunks = Math.round(PER_SECOND * (pacedSeconds / 2))
    const body = chatBody(`pace ${chunks} ${PER_SECOND}`, { stream: true })
    /** @type {Record<string, number>} */
    const errors = {}
    const run = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {string} */ side) => {
      const job = { kind: 'streams', streams: STREAMS, spacingMs: SPACING_MS, chunks, body }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      addErrors(errors, result.errors, side)
      return {
        first_p50: percentile(result.firstChunkMs, 50),
        first_p99: percentile(result.firstChunkMs, 99),
        chunk_p50: percentile(result.chunkDelaysMs, 50),
        chunk_p99: percentile(result.chunkDelaysMs, 99),
        chunks_per_read: result.chunks / result.reads,
      }
    }
    const warmBody = chatBody(`stream ${chunks}`, { stream: true })
    await warmUp(stage, { connections: WARM_CONNECTIONS, seconds: pacedWarmSeconds, body: warmBody }, errors)
    const sides = await thereAndBack(rounds, stage, run)
    return { sides, errors, facts: { streams: STREAMS, chunks_per_second: PER_SECOND } }
  },
}

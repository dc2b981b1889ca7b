// Streams: time to the first chunk, and the age of a chunk when the client has it.
import { percentile } from '../lib/stats.mjs'
import { chatBody, headersFor, interleave, runJob } from '../lib/work.mjs'

const STREAMS = 50
const TOKENS_PER_SECOND = 40

/** @type {import('../lib/line.mjs').Line} */
export const streams = {
  key: 'streams',
  title: 'streams',
  measure: async (stage, { rounds, seconds }) => {
    const tokens = Math.round(TOKENS_PER_SECOND * seconds)
    const body = chatBody({
      stream: true,
      max_tokens: tokens,
      fake: { stamp: true, tokens_per_second: TOKENS_PER_SECOND },
    })
    /** @type {Record<string, number>} */
    const errors = {}
    const sides = await interleave(rounds, stage, async (target) => {
      // The opening chunk (role) is stamped too. The spacing keeps streams from ticking in step.
      const job = { kind: 'streams', streams: STREAMS, spacingMs: 7, chunks: tokens + 1, body }
      const result = await runJob({ ...job, origin: target.origin, headers: headersFor(target) })
      for (const [why, n] of Object.entries(result.errors)) errors[why] = (errors[why] ?? 0) + Number(n)
      return {
        first_p50: percentile(result.firstChunkMs, 50),
        first_p99: percentile(result.firstChunkMs, 99),
        chunk_p50: percentile(result.chunkDelaysMs, 50),
        chunk_p99: percentile(result.chunkDelaysMs, 99),
      }
    })
    return {
      ...sides,
      errors,
      facts: { streams: STREAMS, tokens_per_second: TOKENS_PER_SECOND },
      rows: [
        { name: `first chunk p50, ${STREAMS} streams`, key: 'first_p50', unit: 'ms' },
        { name: `first chunk p99, ${STREAMS} streams`, key: 'first_p99', unit: 'ms' },
        { name: `chunk delay p50, ${STREAMS * TOKENS_PER_SECOND} chunks/s`, key: 'chunk_p50', unit: 'ms' },
        { name: `chunk delay p99, ${STREAMS * TOKENS_PER_SECOND} chunks/s`, key: 'chunk_p99', unit: 'ms' },
      ],
    }
  },
}

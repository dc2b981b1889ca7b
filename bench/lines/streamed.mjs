// Bytes of streams a second: answers of 256 chunks that the engine writes without a pause.

import { wholeStream } from '../engine/answers.mjs'
import { addErrors, chatBody, thereAndBack } from '../lib/work.mjs'
import { floodTarget, warmUp } from '../lib/wrk.mjs'

const CONNECTIONS = 8
const CHUNKS = 256
const ANSWER_BYTES = wholeStream('bench', CHUNKS).length
const MIB = 1024 ** 2

/** @type {import('../lib/line.mjs').Line} */
export const streamed = {
  key: 'streamed',
  title: `streamed bytes, ${CHUNKS} chunks an answer, ${CONNECTIONS} connections`,
  measure: async ({ rounds, seconds, warmSeconds }, bench) => {
    const stage = await bench.stage()
    const body = chatBody(`stream ${CHUNKS}`, { stream: true })
    const load = { connections: CONNECTIONS, body }
    /** @type {Record<string, number>} */
    const errors = {}
    const fire = async (/** @type {import('../lib/stage.mjs').Target} */ target, /** @type {string} */ side) => {
      const result = await floodTarget(target, { ...load, seconds })
      addErrors(errors, result.errors, side)
      return { mib_s: (result.perSecond * ANSWER_BYTES) / MIB }
    }
    await warmUp(stage, { ...load, seconds: warmSeconds }, errors)
    const sides = await thereAndBack(rounds, stage, fire)
    return { sides, errors, facts: { answer_bytes: ANSWER_BYTES, chunks: CHUNKS } }
  },
}

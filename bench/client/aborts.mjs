// A client that leaves: how long until the engine sees it. The engine notes the moment on the clock that we share.
import { agentFor, msBetween, nowNs, post } from './http.mjs'

/** Chunks to read before leaving mid-stream. */
const CHUNKS_READ = 3
const SEEN_LIMIT_MS = 5_000

/** @param {string} control @param {string} counter @param {number} min */
async function waitFor(control, counter, min) {
  const answer = await fetch(`${control}/fake/wait?counter=${counter}&min=${min}&timeout_ms=${SEEN_LIMIT_MS}`)
  if (!answer.ok) throw new Error(`the engine's ${counter} did not reach ${min} within ${SEEN_LIMIT_MS} ms`)
  return answer.json()
}

/** @param {{ origin: string, control: string, headers: Record<string, string>, body: string, times: number, phase: 'before_first_byte' | 'mid_stream' }} job */
export async function aborts(job) {
  const agent = agentFor()
  /** @type {number[]} */
  const latenciesMs = []
  /** @type {Record<string, number>} */
  const errors = {}
  const before = await (await fetch(`${job.control}/fake/state`)).json()
  let seen = before.counters.aborts
  for (let i = 0; i < job.times; i++) {
    try {
      const leftNs = await leave(job, agent)
      const state = await waitFor(job.control, 'aborts', ++seen)
      const abort = state.abort_log.at(-1)
      if (abort.phase !== job.phase) throw new Error(`aborted ${abort.phase}, expected ${job.phase}`)
      latenciesMs.push(msBetween(leftNs, BigInt(abort.at_ns)))
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      errors[why] = (errors[why] ?? 0) + 1
    }
  }
  agent.destroy()
  return { latenciesMs, errors }
}

/** Sends one request and leaves at the right point; resolves with the moment. @param {Parameters<typeof aborts>[0]} job @param {import('node:http').Agent} agent @returns {Promise<bigint>} */
function leave(job, agent) {
  return new Promise((resolve, reject) => {
    let hasLeft = false
    const go = () => {
      hasLeft = true
      const atNs = nowNs()
      req.destroy()
      resolve(atNs)
    }
    const req = post(
      { ...job, agent },
      {
        onError: (why) => {
          if (!hasLeft) reject(new Error(why))
        },
        onResponse: (res) => {
          let chunks = 0
          res.on('error', () => {})
          res.on('data', (part) => {
            chunks += String(part).split('\n\n').length - 1
            if (chunks >= CHUNKS_READ && !hasLeft) go()
          })
          res.on('end', () => reject(new Error(`the answer ended before we left (status ${res.statusCode})`)))
        },
      },
    )
    if (job.phase === 'before_first_byte') waitFor(job.control, 'active', 1).then(go, reject)
  })
}

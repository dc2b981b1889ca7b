// A client that leaves: how long until the engine sees it. The engine notes the moment on the clock that we share.
import { Errors, msBetween, nowNs, requestOf, Wire } from './wire.mjs'

/** Chunks to read before leaving mid-stream. */
const CHUNKS_READ = 3
const SEEN_LIMIT_MS = 5_000

/** @param {string} control @param {'aborts' | 'active'} counter @param {number} min */
async function waitFor(control, counter, min) {
  const answer = await fetch(`${control}/bench/wait/${counter}/${min}`, { signal: AbortSignal.timeout(SEEN_LIMIT_MS) })
  return answer.json()
}

/** @param {import('./wire.mjs').Job & { control: string, times: number, phase: 'before_first_byte' | 'mid_stream' }} job */
export async function aborts(job) {
  const errors = new Errors()
  /** @type {number[]} */
  const latenciesMs = []
  let seen = (await (await fetch(`${job.control}/bench/state`)).json()).aborts
  for (let i = 0; i < job.times; i++) {
    try {
      const leftNs = await leave(job)
      const state = await waitFor(job.control, 'aborts', ++seen)
      const abort = state.log.at(-1)
      if (abort.phase !== job.phase) throw new Error(`aborted ${abort.phase}, expected ${job.phase}`)
      latenciesMs.push(msBetween(leftNs, BigInt(abort.at_ns)))
    } catch (error) {
      errors.add(error instanceof Error ? error.message : String(error))
    }
  }
  return { latenciesMs, errors: errors.counts }
}

/** Sends one request and leaves at the right point; resolves with the moment. @param {Parameters<typeof aborts>[0]} job @returns {Promise<bigint>} */
function leave(job) {
  return new Promise((resolve, reject) => {
    const wire = new Wire(job.origin)
    let chunks = 0
    const go = () => {
      const atNs = nowNs()
      wire.close()
      resolve(atNs)
    }
    wire.send(requestOf(job), {
      onData: (payload) => {
        chunks += payload.toString('latin1').split('\n\n').length - 1
        if (chunks >= CHUNKS_READ) go()
      },
      onEnd: (status) => reject(new Error(`the answer ended before we left (status ${status})`)),
      onError: (why) => reject(new Error(why)),
    })
    if (job.phase === 'before_first_byte') waitFor(job.control, 'active', 1).then(go, reject)
  })
}

// Requests at a fixed rate, whether or not earlier ones were answered (so a slow answer hides no other).
import { agentFor, msBetween, nowNs, post } from './http.mjs'

/** @param {{ origin: string, headers: Record<string, string>, body: string, perSecond: number, seconds: number }} job */
export async function paced(job) {
  const agent = agentFor()
  /** @type {number[]} */
  const latenciesMs = []
  /** @type {Record<string, number>} */
  const errors = {}
  const total = Math.round(job.perSecond * job.seconds)
  const pending = []
  const startNs = nowNs()
  while (pending.length < total) {
    const due = Math.min(total, Math.floor((msBetween(startNs, nowNs()) * job.perSecond) / 1000) + 1)
    for (let i = pending.length; i < due; i++) {
      pending.push(
        once(job, agent).then(
          (ms) => latenciesMs.push(ms),
          (/** @type {Error} */ error) => {
            errors[error.message] = (errors[error.message] ?? 0) + 1
          },
        ),
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(pending)
  agent.destroy()
  return { latenciesMs, errors }
}

/** One complete answer; resolves with its ms. @param {Parameters<typeof paced>[0]} job @param {import('node:http').Agent} agent @returns {Promise<number>} */
function once(job, agent) {
  return new Promise((resolve, reject) => {
    const startNs = nowNs()
    post(
      { ...job, agent },
      {
        onError: (why) => reject(new Error(why)),
        onResponse: (res) => {
          let bytes = 0
          res.on('data', (part) => {
            bytes += part.length
          })
          res.on('error', reject)
          res.on('end', () => {
            const ms = msBetween(startNs, nowNs())
            if (res.statusCode === 200 && bytes > 0) resolve(ms)
            else reject(new Error(`status ${res.statusCode}, ${bytes} bytes`))
          })
        },
      },
    )
  })
}

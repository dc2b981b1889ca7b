// Many streams at once: time to the first chunk, and how old each chunk is when it arrives.
import { agentFor, msBetween, nowNs, post } from './http.mjs'

const STAMP = /"fake_t_ns":"(\d+)"/g

/**
 * @param {{ origin: string, headers: Record<string, string>, body: string, streams: number, spacingMs: number, chunks: number }} job
 * @param {(milestone: string) => void} report `all_open` once every stream has its first chunk
 */
export async function streams(job, report) {
  const agent = agentFor()
  /** @type {number[]} */
  const firstChunkMs = []
  /** @type {number[]} */
  const chunkDelaysMs = []
  /** @type {Record<string, number>} */
  const errors = {}

  const one = () =>
    new Promise((resolve) => {
      const startNs = nowNs()
      let rest = ''
      let chunks = 0
      let isDone = false
      /** @param {string | undefined} why */
      const end = (why) => {
        if (why !== undefined) errors[why] = (errors[why] ?? 0) + 1
        resolve()
      }
      post(
        { ...job, agent },
        {
          onError: end,
          onResponse: (res) => {
            res.setEncoding('utf8')
            res.on('data', (/** @type {string} */ part) => {
              const atNs = nowNs()
              rest += part
              const cut = rest.lastIndexOf('\n\n')
              if (cut < 0) return
              const whole = rest.slice(0, cut + 2)
              rest = rest.slice(cut + 2)
              for (const [, stamp] of whole.matchAll(STAMP)) {
                chunks += 1
                chunkDelaysMs.push(msBetween(BigInt(stamp), atNs))
                if (chunks === 1) {
                  firstChunkMs.push(msBetween(startNs, atNs))
                  if (firstChunkMs.length === job.streams) report('all_open')
                }
              }
              if (whole.includes('data: [DONE]')) isDone = true
            })
            res.on('error', (error) => end(error.message))
            res.on('end', () => {
              const isWhole = res.statusCode === 200 && isDone && chunks === job.chunks
              end(isWhole ? undefined : `status ${res.statusCode}, ${chunks} of ${job.chunks} chunks, done ${isDone}`)
            })
          },
        },
      )
    })

  const all = []
  for (let i = 0; i < job.streams; i++) {
    all.push(one())
    if (job.spacingMs > 0) await new Promise((resolve) => setTimeout(resolve, job.spacingMs))
  }
  await Promise.all(all)
  agent.destroy()
  return { firstChunkMs, chunkDelaysMs, errors }
}

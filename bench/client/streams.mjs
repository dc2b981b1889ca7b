// Many streams at once: time to the first chunk, how old each chunk is when it arrives, and in how many reads they came.
import { Errors, msBetween, nowNs, requestOf, Wire } from './wire.mjs'

const STAMP = /"t_ns":"(\d+)"/g

/** @param {import('./wire.mjs').Job & { streams: number, spacingMs: number, chunks: number }} job */
export async function streams(job) {
  const errors = new Errors()
  const request = Buffer.from(requestOf(job))
  /** @type {number[]} */
  const firstChunkMs = []
  /** @type {number[]} */
  const chunkDelaysMs = []
  let reads = 0
  let allChunks = 0

  const one = () =>
    new Promise((resolve) => {
      const wire = new Wire(job.origin)
      let chunks = 0
      let isDone = false
      let rest = ''
      let readsBefore = 0
      wire.socket.once('connect', () => {
        const startNs = nowNs()
        wire.send(request, {
          onData: (payload) => {
            const atNs = nowNs()
            const text = rest + payload.toString('latin1')
            const cut = text.lastIndexOf('\n\n')
            rest = text.slice(cut + 1)
            if (chunks === 0) readsBefore = wire.reads - 1
            for (const [, stamp] of text.slice(0, cut + 1).matchAll(STAMP)) {
              chunks += 1
              chunkDelaysMs.push(msBetween(BigInt(stamp), atNs))
              if (chunks === 1) firstChunkMs.push(msBetween(startNs, atNs))
              if (chunks === job.chunks) reads += wire.reads - readsBefore
            }
            if (text.includes('data: [DONE]')) isDone = true
          },
          onEnd: (status) => {
            allChunks += chunks
            const isWhole = status === 200 && isDone && chunks === job.chunks
            if (!isWhole) errors.add(`status ${status}, ${chunks} of ${job.chunks} chunks, done ${isDone}`)
            wire.close()
            resolve(undefined)
          },
          onError: (why) => {
            errors.add(why)
            resolve(undefined)
          },
        })
      })
      wire.socket.once('error', resolve)
    })

  const all = []
  for (let i = 0; i < job.streams; i++) {
    all.push(one())
    if (job.spacingMs > 0) await new Promise((resolve) => setTimeout(resolve, job.spacingMs))
  }
  await Promise.all(all)
  return { firstChunkMs, chunkDelaysMs, reads, chunks: allChunks, errors: errors.counts }
}

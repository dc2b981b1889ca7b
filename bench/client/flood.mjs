// As many answers as it goes, for a time: stands in for wrk where that is not installed (and takes more of the machine).
import { Errors, msBetween, nowNs, requestOf, Wire } from './wire.mjs'

/** @param {import('./wire.mjs').Job & { connections: number, seconds: number }} job */
export async function flood(job) {
  const errors = new Errors()
  const request = Buffer.from(requestOf(job))
  const startNs = nowNs()
  let answers = 0
  const isOver = () => msBetween(startNs, nowNs()) >= job.seconds * 1000

  const one = () =>
    new Promise((resolve) => {
      let wire = new Wire(job.origin)
      const next = () => {
        if (isOver()) {
          wire.close()
          return resolve(undefined)
        }
        if (!wire.isOpen) wire = new Wire(job.origin)
        wire.send(request, {
          onEnd: (status) => {
            if (status === 200) answers += 1
            else errors.add(`status ${status}`)
            setImmediate(next)
          },
          onError: (why) => {
            errors.add(why)
            setImmediate(next)
          },
        })
      }
      next()
    })
  await Promise.all(Array.from({ length: job.connections }, one))
  return { answers, seconds: msBetween(startNs, nowNs()) / 1000, errors: errors.counts }
}

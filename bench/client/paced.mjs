// Requests at a fixed rate, whether or not earlier ones were answered (so a slow answer hides no other).
import { Errors, msBetween, nowNs, requestOf, Wire } from './wire.mjs'

/** @param {import('./wire.mjs').Job & { perSecond: number, seconds: number }} job */
export async function paced(job) {
  const errors = new Errors()
  const request = Buffer.from(requestOf(job))
  /** @type {number[]} */
  const latenciesMs = []
  /** @type {Wire[]} */
  const idle = []
  const total = Math.round(job.perSecond * job.seconds)
  let sent = 0
  let ended = 0
  /** @type {() => void} */
  let allEnded = () => {}
  const end = () => {
    ended += 1
    if (ended === total) allEnded()
  }

  const once = () => {
    let wire = idle.pop()
    while (wire !== undefined && !wire.isOpen) wire = idle.pop()
    const used = wire ?? new Wire(job.origin)
    const startNs = nowNs()
    used.send(request, {
      onEnd: (status) => {
        if (status === 200) latenciesMs.push(msBetween(startNs, nowNs()))
        else errors.add(`status ${status}`)
        idle.push(used)
        end()
      },
      onError: (why) => {
        errors.add(why)
        end()
      },
    })
  }
  await new Promise((resolve) => {
    allEnded = () => resolve(undefined)
    const startNs = nowNs()
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor((msBetween(startNs, nowNs()) * job.perSecond) / 1000) + 1)
      while (sent < due) {
        sent += 1
        once()
      }
      if (sent === total) clearInterval(timer)
    }, 1)
  })
  for (const wire of idle) wire.close()
  return { latenciesMs, errors: errors.counts }
}

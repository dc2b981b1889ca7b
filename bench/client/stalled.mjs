// Clients that ask for a large answer and stop reading after its first bytes.
import { Errors, requestOf, Wire } from './wire.mjs'

/** @param {import('./wire.mjs').Job & { clients: number }} job @param {import('./worker.mjs').Parent} parent hears `stalled`, and says when to leave */
export async function stalled(job, parent) {
  const errors = new Errors()
  const request = Buffer.from(requestOf(job))
  /** @type {Wire[]} */
  const wires = []
  await Promise.all(
    Array.from(
      { length: job.clients },
      () =>
        new Promise((resolve) => {
          const wire = new Wire(job.origin)
          wires.push(wire)
          wire.send(request, {
            onData: () => {
              wire.socket.pause()
              resolve(undefined)
            },
            onEnd: (status) => {
              errors.add(`ended with status ${status}: it was read to its end`)
              resolve(undefined)
            },
            onError: (why) => {
              errors.add(why)
              resolve(undefined)
            },
          })
        }),
    ),
  )
  await parent.ask('stalled')
  for (const wire of wires) wire.close()
  return { errors: errors.counts }
}

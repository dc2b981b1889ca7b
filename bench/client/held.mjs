// Streams that stay open: opened in steps, and ended by the engine when everything has been looked at.
import { Errors, requestOf, Wire } from './wire.mjs'

/** Streams that wait for their first chunk at one time; more would only fill the backlog of the listener. */
const OPENING_LIMIT = 64

/**
 * @param {import('./wire.mjs').Job & { steps: number[], control: string }} job
 * @param {import('./worker.mjs').Parent} parent hears `open` after each step, and says when to go on
 */
export async function held(job, parent) {
  const errors = new Errors()
  const request = Buffer.from(requestOf(job))
  /** @type {Promise<void>[]} */
  const ends = []
  let opened = 0
  /** @type {() => void} */
  let onOpened = () => {}

  const one = () => {
    const wire = new Wire(job.origin)
    let isOpen = false
    let tail = ''
    const settle = () => {
      if (isOpen) return
      isOpen = true
      opened += 1
      onOpened()
    }
    ends.push(
      new Promise((resolve) => {
        wire.send(request, {
          onData: (payload) => {
            tail = (tail + payload.toString('latin1')).slice(-32)
            settle()
          },
          onEnd: (status) => {
            if (status !== 200 || !tail.includes('data: [DONE]')) errors.add(`status ${status}, ended without [DONE]`)
            settle()
            wire.close()
            resolve()
          },
          onError: (why) => {
            errors.add(why)
            settle()
            resolve()
          },
        })
      }),
    )
  }
  for (const step of job.steps) {
    await new Promise((resolve) => {
      onOpened = () => {
        while (ends.length < step && ends.length - opened < OPENING_LIMIT) one()
        if (opened === step) resolve(undefined)
      }
      onOpened()
    })
    await parent.ask('open')
  }
  await fetch(`${job.control}/bench/finish`)
  await Promise.all(ends)
  return { errors: errors.counts, ended: ends.length }
}

// The kinds of answers that a request can ask the bench's engine for.
import { frame, jsonAnswer, STREAM_END, STREAM_HEAD, wholeStream } from './answers.mjs'

const HOLD_MS = 1_000
/** A large answer leaves in pieces of this size, as fast as they are taken. */
const PIECE_BYTES = 64 * 1024

/**
 * @param {string} model @param {import('./control.mjs').Control} control
 * @returns {Record<string, (socket: import('node:net').Socket, active: import('./control.mjs').Active, a: number, b: number, bytes: number) => void>}
 */
export function createKinds(model, control) {
  /** @type {Map<number, Buffer>} */
  const streams = new Map()
  const piece = Buffer.from(
    frame(model, ' one of very many').repeat(PIECE_BYTES / frame(model, ' one of very many').length),
    'latin1',
  )
  const heldFrame = Buffer.from(frame(model, ' still here'), 'latin1')
  const stamped = () => frame(model, ' token', `"t_ns":"${process.hrtime.bigint()}",`)

  return {
    /** `stream N`: N chunks, without a pause. */
    stream(socket, active, chunks) {
      let whole = streams.get(chunks)
      if (whole === undefined) streams.set(chunks, (whole = wholeStream(model, chunks)))
      socket.write(whole)
      control.done(active)
    },
    /** `pace N R`: N chunks, R a second; each carries the time at which it was written. */
    pace(socket, active, chunks, perSecond) {
      let sent = 0
      const one = () => {
        if (!active.isBusy) return clearInterval(timer)
        active.hasSpoken = true
        sent += 1
        socket.write(stamped())
        if (sent < chunks) return
        clearInterval(timer)
        socket.write(STREAM_END)
        control.done(active)
      }
      socket.write(STREAM_HEAD)
      const timer = setInterval(one, 1000 / perSecond)
      one()
    },
    /** `hold`: a chunk now and every second, until /bench/finish. */
    hold(socket, active) {
      socket.write(STREAM_HEAD)
      socket.write(heldFrame)
      active.hasSpoken = true
      const timer = setInterval(() => {
        if (active.isBusy) socket.write(heldFrame)
        else forget()
      }, HOLD_MS)
      const release = control.hold(() => {
        clearInterval(timer)
        if (!active.isBusy) return
        socket.write(STREAM_END)
        control.done(active)
      })
      const forget = () => {
        clearInterval(timer)
        release()
      }
      socket.once('close', forget)
    },
    /** `big N`: a stream of about N bytes, as fast as it is taken. */
    big(socket, active, sizeBytes) {
      let left = sizeBytes
      const more = () => {
        while (active.isBusy && left > 0) {
          left -= piece.length
          if (!socket.write(piece) && left > 0) return void socket.once('drain', more)
        }
        if (!active.isBusy) return
        socket.write(STREAM_END)
        control.done(active)
      }
      active.hasSpoken = true
      socket.write(STREAM_HEAD)
      more()
    },
    /** `count`: how long the body was. */
    count(socket, active, _a, _b, bytes) {
      control.done(active)
      socket.write(jsonAnswer(200, JSON.stringify({ model, bytes })))
    },
    /** `hang`: nothing at all. */
    hang(_socket, active) {
      active.hasSpoken = false
      control.began()
    },
  }
}

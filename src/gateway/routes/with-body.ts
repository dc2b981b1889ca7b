import type { Hal0Error } from '../../kernel/errors.ts'
import { sendError } from '../answer.ts'
import { statusOfBodyError } from '../body/body-errors.ts'
import type { BodyHolder } from '../body/engine-body.ts'
import type { Receiving } from '../body/read-body.ts'
import type { Exchange } from '../exchange.ts'
import type { Served } from '../send-to-slot.ts'

type Outcome<Body> = [error: Hal0Error, body: undefined] | [error: undefined, body: Body]

/**
 * Receives a request's body, has it worked on, and gives its memory back however that ends. What is wrong with the body is told to the
 * client here; a client that leaves while it sends ends the receiving. `done` gets what is still to be told, once.
 */
export function withBody<Body extends BodyHolder>(
  exchange: Exchange,
  receive: (take: (...outcome: Outcome<Body>) => void) => Receiving,
  work: (body: Body, done: Served) => void,
  done: Served,
): void {
  let isReceived = false
  const receiving = receive((error, body) => {
    isReceived = true
    exchange.onEnding(undefined)
    if (error !== undefined) {
      const status = statusOfBodyError(error)
      sendError(exchange, error, status === undefined ? {} : { status })
      return done()
    }
    const end: Served = (failure) => {
      body.release()
      done(failure)
    }
    try {
      work(body, end)
    } catch (thrown) {
      end(thrown)
    }
  })
  // What the headers rule out is told before there is anything to be cancelled.
  if (isReceived) return
  exchange.onEnding((reason) => {
    receiving.cancel()
    done(reason)
  })
}

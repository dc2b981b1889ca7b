import type { Exchange } from '../exchange.ts'
import { type ClientStallGuard, createClientStallGuard, takenBytesOf } from './client-stall.ts'

/**
 * The guard of one exchange: a client that takes nothing for `limitMs` although data waits is cut off, and its request noted as
 * `client_stalled`. Rests by itself when the answer is over. `limitMs` 0 = no limit. Source: SPEC 11.
 */
export function watchClient(
  exchange: Pick<Exchange, 'clock' | 'req' | 'res' | 'facts'>,
  limitMs: number,
): ClientStallGuard {
  const { clock, req, res } = exchange
  const guard = createClientStallGuard(
    clock,
    limitMs,
    () => takenBytesOf(req.socket),
    () => {
      // A pipelined answer waits for the one before it, not for its client.
      if (res.socket === null) return guard.watch()
      exchange.facts.failure ??= 'client_stalled'
      // The rest follows from the closed connection, as with any client that leaves.
      res.destroy()
    },
  )
  res.once('close', () => guard.rest())
  return guard
}

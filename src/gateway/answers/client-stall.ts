import type { Socket } from 'node:net'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'

/** Looks so often within the limit: a stall is seen at most an eighth late. */
const LOOKS_PER_LIMIT = 8

/** Ends a client that takes nothing although data waits for it. Only one is armed per answer. */
export interface ClientStallGuard {
  /** Data waits from now on. */
  watch(): void
  /** Nothing waits any more. */
  rest(): void
}

/**
 * `takenBytes` = how much the client has taken in all; what matters is whether it grows. `limitMs` 0 = no limit.
 * Source: SPEC 11 "A client that takes no byte for 120 s with data waiting is aborted".
 */
export function createClientStallGuard(
  clock: Clock,
  limitMs: number,
  takenBytes: () => number,
  onStall: () => void,
): ClientStallGuard {
  let cancel: CancelTimer | undefined
  let lastTaken = 0
  let lastMs = 0

  const look = (): void => {
    cancel = undefined
    const taken = takenBytes()
    const nowMs = clock.monotonicMs()
    if (taken !== lastTaken) {
      lastTaken = taken
      lastMs = nowMs
    } else if (nowMs - lastMs >= limitMs) return onStall()
    arm()
  }
  const arm = (): void => {
    const leftMs = lastMs + limitMs - clock.monotonicMs()
    cancel = clock.setTimer(Math.min(leftMs, limitMs / LOOKS_PER_LIMIT), look)
  }
  return {
    watch() {
      if (limitMs === 0 || cancel !== undefined) return
      lastTaken = takenBytes()
      lastMs = clock.monotonicMs()
      arm()
    },
    rest() {
      cancel?.()
      cancel = undefined
    },
  }
}

/**
 * Bytes of the connection that the kernel has taken: those written, less those that wait in node. A large write counts as it goes:
 * the handle alone knows how much of it is left, and node's own time-outs ask it too.
 */
export function takenBytesOf(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle')
  const left: unknown =
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'writeQueueSize') : undefined
  return socket.bytesWritten - (typeof left === 'number' ? left : 0)
}

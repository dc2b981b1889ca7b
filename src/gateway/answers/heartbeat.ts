import type { ApiDialect } from '../../contract/api-dialect.ts'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'

/** Sends a sign of life whenever a stream was silent for long. */
export interface Heartbeat {
  /** Something was sent; costs one look at the clock. */
  touched(): void
  /** Silence counts from now on. */
  start(): void
  /** Nothing is sent any more; it may be started again. */
  stop(): void
}

/** What clients of every other dialect pass over: a comment (WHATWG HTML, "event stream"). */
const COMMENT = Buffer.from(': hal0 waits for the engine\n\n')
/** Anthropic's own sign of life. */
const PING = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

export interface HeartbeatOptions {
  /** Absent = `openai`. */
  readonly dialect?: ApiDialect
  /** A sign of life ends an event: it may stand only where none is open. Asked before each; while the answer is no, none is sent. Absent = always. */
  readonly isBetweenEvents?: () => boolean
}

/**
 * `everyMs` > 0 is the silence after which one is sent, and again as long as it lasts. The timer is armed anew only when it fires, so that a chunk costs no timer.
 * Source: SPEC 11; opt-in, see `chooseHeartbeat`.
 */
export function createHeartbeat(
  clock: Clock,
  everyMs: number,
  send: (bytes: Buffer) => void,
  { dialect = 'openai', isBetweenEvents }: HeartbeatOptions = {},
): Heartbeat {
  const beat = dialect === 'anthropic' ? PING : COMMENT
  let lastMs = 0
  let isOn = false
  let cancel: CancelTimer | undefined

  const look = (): void => {
    cancel = undefined
    const nowMs = clock.monotonicMs()
    if (nowMs - lastMs >= everyMs) {
      lastMs = nowMs
      if (isBetweenEvents?.() !== false) send(beat)
    }
    if (isOn) arm()
  }
  const arm = (): void => {
    cancel ??= clock.setTimer(lastMs + everyMs - clock.monotonicMs(), look)
  }
  return {
    touched() {
      lastMs = clock.monotonicMs()
    },
    start() {
      if (isOn) return
      isOn = true
      lastMs = clock.monotonicMs()
      arm()
    },
    stop() {
      isOn = false
      cancel?.()
      cancel = undefined
    },
  }
}

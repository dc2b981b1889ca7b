import { Hal0Error } from '../../kernel/errors.ts'
import { MIB } from '../../kernel/units.ts'

/** Bodies go as fast as engines take them: some seconds, as a rule. */
const RETRY_AFTER_S = 5

/** How much of all the bodies that are held at once may lie in memory. Source: SPEC 11 "Bodies". */
export class BodyBudget {
  readonly #limitBytes: () => number
  #heldBytes = 0

  /** Asked anew each time: a change of the setting applies at once. Bytes. */
  constructor(limitBytes: () => number) {
    this.#limitBytes = limitBytes
  }

  /** All of it, taken or not; a body larger than this never fits. */
  get limitBytes(): number {
    return this.#limitBytes()
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** False = there is not so much left, and nothing was taken. */
  take(sizeBytes: number): boolean {
    if (this.#heldBytes + sizeBytes > this.#limitBytes()) return false
    this.#heldBytes += sizeBytes
    return true
  }

  giveBack(sizeBytes: number): void {
    this.#heldBytes -= sizeBytes
  }
}

/** The answer to a body for which no memory is left. */
export function noRoomError({ limitBytes }: BodyBudget): Hal0Error {
  const text = limitBytes >= MIB ? `${Math.floor(limitBytes / MIB)} MiB` : `${limitBytes} bytes`
  return Hal0Error.of('dispatch.queue_full', `The requests that wait hold all ${text} there are for bodies`, {
    retryAfterS: RETRY_AFTER_S,
    details: {
      body_memory_bytes: limitBytes,
      remedy: 'Wait for Retry-After, or raise [server] body_memory_bytes in hal0.toml: `hal0 config edit hal0`.',
    },
  })
}

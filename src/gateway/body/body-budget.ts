import { Hal0Error } from '../../kernel/errors.ts'
import { bytesInWords } from './body-errors.ts'

/** Bodies go as fast as engines take them: some seconds, as a rule. */
const RETRY_AFTER_S = 5

/** The setting under `[server]` that says how much: of memory, or of the disk for forms. */
export type BudgetKey = 'body_memory_bytes' | 'spill_limit_bytes'

const HELD_BY: Readonly<Record<BudgetKey, (limit: string) => string>> = {
  body_memory_bytes: (limit) => `The requests that wait hold all ${limit} there are for bodies`,
  spill_limit_bytes: (limit) => `The forms that wait hold all ${limit} of disk there are for them`,
}

/** How much of all the bodies that are held at once may lie in memory, or on disk. Source: SPEC 11 "Bodies". */
export class BodyBudget {
  readonly key: BudgetKey
  readonly #limitBytes: () => number
  #heldBytes = 0

  /** `limitBytes` is asked anew each time: a change of the setting applies at once. */
  constructor(limitBytes: () => number, key: BudgetKey = 'body_memory_bytes') {
    this.key = key
    this.#limitBytes = limitBytes
  }

  /** All of it, taken or not; a body larger than this never fits. */
  get limitBytes(): number {
    return this.#limitBytes()
  }

  /** Would it be there now? Takes nothing. */
  hasRoom(sizeBytes: number): boolean {
    return this.#heldBytes + sizeBytes <= this.#limitBytes()
  }

  /** False = there is not so much left, and nothing was taken. */
  take(sizeBytes: number): boolean {
    if (!this.hasRoom(sizeBytes)) return false
    this.#heldBytes += sizeBytes
    return true
  }

  giveBack(sizeBytes: number): void {
    this.#heldBytes -= sizeBytes
  }
}

/** The answer to a body for which there is no room now. Errors: `dispatch.queue_full`. */
export function noRoomError({ key, limitBytes }: BodyBudget): Hal0Error {
  return Hal0Error.of('dispatch.queue_full', HELD_BY[key](bytesInWords(limitBytes)), {
    retryAfterS: RETRY_AFTER_S,
    details: {
      [key]: limitBytes,
      remedy: `Wait for Retry-After, or raise [server] ${key} in hal0.toml: \`hal0 config edit hal0\`.`,
    },
  })
}

import type { SlotRow } from '../../contract/slot-row.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import type { Try } from '../life/phase.ts'
import { closingError, terminateTimeoutError, unloadingError } from '../slot-failures.ts'
import type { ClosingReason } from './actor-messages.ts'
import { Audience } from './deferred.ts'
import type { StartedBy } from './start-gate.ts'

/** A load that is to follow the end of what there is. */
export interface NextLoad {
  readonly nth: Try
  readonly by: StartedBy
}

/** What people want of a slot and have not got yet. Belongs to the slot's actor. */
export class Wishes {
  /** Who waits for a load, for the end of the process, for the end of the actor. */
  readonly load = new Audience<SlotRow>()
  readonly stop = new Audience<SlotRow>()
  readonly close = new Audience<void>()
  closing: { readonly why: ClosingReason; readonly keepEngine: boolean } | undefined
  /** Counts unloads: a load or restart whose files were still being read is overtaken by one. */
  unloads = 0
  #next: NextLoad | undefined
  readonly #name: string
  readonly #deps: ActorDeps

  constructor(name: string, deps: ActorDeps) {
    this.#name = name
    this.#deps = deps
  }

  /** The load that begins as soon as the process is gone; the only place that says so. */
  get next(): NextLoad | undefined {
    return this.#next
  }

  /** What a person wants once, no later wish of the daemon makes less. */
  loadNext(nth: Try, by: StartedBy): void {
    this.#next = { nth, by: this.#next?.by === 'person' ? 'person' : by }
  }

  dropNext(): void {
    this.#next = undefined
  }

  /** What a wish is answered that comes too late; undefined = wishes are taken. */
  get refusal(): Hal0Error | undefined {
    return this.closing === undefined ? undefined : closingError(this.#name, this.closing.why)
  }

  /** What those are answered whose load an unload has overtaken. */
  get overtaken(): Hal0Error {
    return unloadingError(this.#name, 'was unloaded before it was ready')
  }

  /** Who asked for a stop (also for the load behind it) waits for the death of the process no longer than this. */
  boundStopWaits(): void {
    const { clock, settings } = this.#deps
    const overdue = () => terminateTimeoutError(this.#name, settings.stopWaitMs)
    for (const audience of [this.stop, this.load]) audience.boundWaits(clock, settings.stopWaitMs, overdue)
  }
}

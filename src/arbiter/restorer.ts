import { isDispatchable } from '../contract/slot-row.ts'
import { messageOf } from '../kernel/errors.ts'
import { announce } from './announce.ts'
import { withLimit } from './comfy-view.ts'
import { chooseReload } from './rules/choose-reload.ts'
import { WAIT_MS } from './rules/timing.ts'
import type { StateKeeper } from './state-keeper.ts'
import type { ArbiterEffects } from './switch-host.ts'

/** What the restorer sees of the arbiter. */
export interface RestoreHost extends ArbiterEffects {
  readonly state: StateKeeper
  /** Slots that requests are for. */
  wantedSlots(): ReadonlySet<string>
}

/** Loads the saved slots one after another, while the language models have the memory. */
export class Restorer {
  readonly #host: RestoreHost
  /** Counts the stays; what was begun in an earlier one is none of a later one's business. */
  #stay = 0
  #isBusy = false

  constructor(host: RestoreHost) {
    this.#host = host
  }

  /** The language models have the memory: whatever is saved is loaded. Idempotent. */
  begin(): void {
    if (this.#isBusy || this.#host.state.now.saved_slots.length === 0) return
    this.#isBusy = true
    void this.#run(this.#stay)
  }

  /** They lose it: nothing more is begun; what is being loaded stays saved. */
  end(): void {
    this.#stay++
    this.#isBusy = false
  }

  async #run(stay: number): Promise<void> {
    const { state, slots, clock } = this.#host
    // Each time anew: a request that came meanwhile makes its slot the next.
    for (;;) {
      const rows = slots.rows()
      const name = chooseReload(state.now.saved_slots, this.#host.wantedSlots(), rows)
      if (name === undefined) break
      const row = rows.find((one) => one.name === name)
      if (row !== undefined && !isDispatchable(row)) {
        const thrown = await withLimit(clock, WAIT_MS, slots.load(name)).then(
          () => undefined,
          (cause: unknown) => ({ cause }),
        )
        if (stay !== this.#stay) return
        if (thrown !== undefined) this.#tell(name, thrown.cause)
      }
      void state.keep({ saved_slots: state.now.saved_slots.filter((one) => one !== name) })
    }
    this.#isBusy = false
  }

  #tell(slot: string, cause: unknown): void {
    const reason = messageOf(cause)
    const message = `slot ${slot} was unloaded for images and did not come back: ${reason}`
    announce(this.#host, 'warning', 'arbiter.reload_failed', message, { slot, reason })
  }
}

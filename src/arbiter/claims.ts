import type { Claim } from '../slots/admission/residents.ts'
import { isResident, isWanted } from './rules/residence.ts'
import type { SwitchHost } from './switch-host.ts'

/** The claims on language slots of one stay in image mode, or of the way into it. */
export class Claims {
  readonly #host: SwitchHost
  readonly #open = new Map<string, Claim>()

  constructor(host: SwitchHost) {
    this.#host = host
  }

  get slots(): readonly string[] {
    return [...this.#open.keys()]
  }

  /**
   * Claims every language slot that is in memory and not claimed yet; true when none is. Such a slot that serves, or is about to, is saved.
   * A refused claim is made again at the next call: calls come at the pace of the timer, so a row that lags does no harm.
   */
  allGone(): boolean {
    const { state, slots } = this.#host
    const rows = this.#host.rowsOf('llm')
    const residents = rows.filter(isResident)
    const saved = new Set([...state.now.saved_slots, ...residents.filter(isWanted).map((row) => row.name)])
    if (saved.size > state.now.saved_slots.length) void state.keep({ saved_slots: [...saved] })
    for (const { name } of residents) {
      if (this.#open.has(name)) continue
      const claim = slots.claim(name)
      this.#open.set(name, claim)
      void claim.gone.then(() => this.#open.get(name) === claim && this.#open.delete(name))
    }
    const up = new Set(residents.map((row) => row.name))
    this.#host.setAway([...saved].filter((name) => !up.has(name)))
    return residents.length === 0
  }

  giveUp(): void {
    for (const claim of [...this.#open.values()]) claim.giveUp()
    this.#open.clear()
  }
}

import type { Device, SlotRow, SlotType } from '../contract/slot-row.ts'
import type { SlotState } from '../contract/slot-state.ts'
import type { ShadowCounts } from './rules/shadow-rows.ts'
import type { SlotView } from './slots.ts'

/** What a view has to know of the NPU's engine. */
export interface ShadowFacts {
  /** Undefined = the slot has an engine of its own; `anchor` undefined = it rides on nothing. */
  standingOf(own: SlotView): { readonly anchor: SlotView | undefined } | undefined
  counts(name: string): ShadowCounts
}

/**
 * A slot as `withShadows` shows it: where it is a part of the NPU's engine, how it is doing is said of the slot whose engine that is. What it is may
 * change with its file, so it is asked each time. The same as its row says.
 */
export class ShownView implements SlotView {
  readonly name: string
  readonly #own: SlotView
  readonly #facts: ShadowFacts

  constructor(own: SlotView, facts: ShadowFacts) {
    this.name = own.name
    this.#own = own
    this.#facts = facts
  }

  get aliases(): readonly string[] {
    return this.#own.aliases
  }

  get type(): SlotType {
    return this.#own.type
  }

  get default(): boolean {
    return this.#own.default
  }

  get device(): Device {
    return this.#own.device
  }

  get runner(): string {
    return this.#own.runner
  }

  get state(): SlotState {
    const standing = this.#facts.standingOf(this.#own)
    return standing === undefined ? this.#own.state : (standing.anchor?.state ?? 'offline')
  }

  get idle_reason(): SlotRow['idle_reason'] {
    const standing = this.#facts.standingOf(this.#own)
    return standing === undefined ? this.#own.idle_reason : (standing.anchor?.idle_reason ?? null)
  }

  get model_id(): string | null {
    const standing = this.#facts.standingOf(this.#own)
    return standing === undefined ? this.#own.model_id : (standing.anchor?.model_id ?? null)
  }

  get in_flight(): number {
    const isOwn = this.#facts.standingOf(this.#own) === undefined
    return isOwn ? this.#own.in_flight : this.#facts.counts(this.name).inFlight
  }

  get lastUsedMs(): number {
    return (this.#facts.standingOf(this.#own)?.anchor ?? this.#own).lastUsedMs
  }
}

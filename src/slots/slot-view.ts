import type { Device, SlotRow, SlotType } from '../contract/slot-row.ts'
import type { SlotState } from '../contract/slot-state.ts'
import type { SlotParts } from './actor/slot-parts.ts'
import { runnerOf } from './slot-row.ts'
import type { SlotView } from './slots.ts'

/** While the slot's file cannot be read. */
const NO_ALIASES: readonly string[] = []

/**
 * One slot as resolution sees it, for the slot's whole life: each property is read where it is kept at the moment it is asked for, nothing is made.
 * The same as the slot's row says.
 */
export class ActorView implements SlotView {
  readonly name: string
  readonly #parts: SlotParts
  readonly #use: { readonly lastUsedMs: number }

  /** `use`: when a request of it ended last, epoch ms, 0 = never. */
  constructor(parts: SlotParts, use: { readonly lastUsedMs: number }) {
    this.name = parts.name
    this.#parts = parts
    this.#use = use
  }

  get aliases(): readonly string[] {
    return this.#parts.files.bound?.config.aliases ?? NO_ALIASES
  }

  get type(): SlotType {
    return this.#parts.files.bound?.config.type ?? 'llm'
  }

  get default(): boolean {
    return this.#parts.files.bound?.config.default ?? false
  }

  get state(): SlotState {
    return this.#parts.board.state
  }

  get idle_reason(): SlotRow['idle_reason'] {
    return this.#parts.board.idleReason
  }

  get model_id(): string | null {
    return this.#parts.board.modelId
  }

  get device(): Device {
    return this.#parts.files.bound?.config.device ?? 'cpu'
  }

  get runner(): string {
    return runnerOf(this.#parts.life.phase, this.#parts.files.bound)
  }

  get in_flight(): number {
    return this.#parts.book.inFlight
  }

  get lastUsedMs(): number {
    return this.#use.lastUsedMs
  }
}

import type { SlotConfig } from '../config/slots/slot-file.ts'

/** What a lane's slot is made of. It is never written to a slot file. Source: SPEC 12. */
export interface LaneSlotConfig {
  /** As a slot file would say it; `[model] default` is what the lane runs now, '' = nothing. The same object until something of it changes. */
  readonly config: SlotConfig
  /** The lane's cards, as its device counts them; empty on a CPU. */
  readonly gpus: readonly number[]
  /** Where the profile names no runner. Undefined = by device. */
  readonly runner: string | undefined
}

/** The lanes as the slots see them: each has one slot, of its own name. All answers are from memory. */
export interface LaneBindings {
  /** In order of name. */
  names(): readonly string[]
  /** Undefined = there is no such lane. */
  configOf(name: string): LaneSlotConfig | undefined
}

import type { SlotRow } from '../contract/slot-row.ts'
import type { Publisher } from '../events/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import type { ArbiterMode, ArbiterSlots, ComfyClient } from './ports.ts'
import type { ArbiterSetting } from './rules/choose-groups.ts'
import type { ModeTiming } from './rules/timing.ts'
import type { StateKeeper } from './state-keeper.ts'

/** Who has the memory: `rest` = the mode's group, `loading` = images, else nobody may start anything. */
export type Stage = 'rest' | 'draining' | 'loading' | 'freeing'

/** What the arbiter needs of the world. */
export interface ArbiterEffects {
  readonly slots: ArbiterSlots
  readonly comfyOf: (row: SlotRow) => ComfyClient
  readonly clock: Clock
  readonly log: Log
  readonly bus: Publisher
}

/** All that the arbiter is made of besides its state. */
export interface ArbiterDeps extends ArbiterEffects {
  readonly settings: () => { readonly arbiter: ArbiterSetting }
  /** Absent = as SPEC 8 says. Shorter ones let a test of the whole daemon see many switches. */
  readonly timing?: ModeTiming | undefined
}

/** What a switch under way sees of the arbiter. There is one at a time. */
export interface SwitchHost extends ArbiterEffects {
  readonly state: StateKeeper
  isClosed(): boolean
  /** It goes back to `rest` by itself when the switch has ended. */
  setStage(stage: Exclude<Stage, 'rest'>): void
  /** The arbitrated slots of a group, as they are now. */
  rowsOf(group: ArbiterMode): readonly SlotRow[]
  /** Does a request or a person still wait for the mode? */
  isWanted(mode: ArbiterMode): boolean
  /** A pin, which may have come while the switch was under way, keeps the mode that is on, and no person asks for `mode`. */
  isPinnedAgainst(mode: ArbiterMode): boolean
  /** Slots of the group with requests that have its memory. */
  busySlots(group: ArbiterMode): readonly string[]
  /** The image slot that is waited for; undefined = there is none any more. */
  imageTarget(): string | undefined
  /** These are unloaded, as far as a claim under way has come. */
  setAway(slots: readonly string[]): void
  /** Resolves true as soon as `test` holds, false after `limitMs` or when the arbiter is closed. `test` is asked again and again. */
  until(test: () => boolean, limitMs: number): Promise<boolean>
}

/** How a switch ended. `cancelled`: nobody wanted it any more, or the arbiter was closed. */
export type SwitchOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly error: Hal0Error }

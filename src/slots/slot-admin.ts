import type { ResolvedLaunch } from '../contract/resolved.ts'
import type { ReseedResult, SlotChange, SlotConfigView, SlotPayload } from '../contract/slot-config.ts'
import type { SlotRow } from '../contract/slot-row.ts'

/**
 * What people do to slots besides running them: every write passes `guardSlotWrite`. An edit never stops a process.
 * Source: SPEC 3, 4, 16.
 */
export interface SlotAdmin {
  /**
   * Writes the file and opens the slot. `payload`: the file's keys as data, `name` among them; `autoload` is written, false unless said.
   * Errors: `slot.exists`, the gate's (`slot.tuning_key_denied`, `slot.llama_env_denied`, `slot.config_error`, `validation.invalid`),
   * `model.not_found`, `slot.profile_missing`.
   */
  create(payload: SlotPayload): Promise<SlotRow>
  /** Errors: `slot.not_found`, `config.invalid`. */
  config(name: string): Promise<SlotConfigView>
  /** A merge: keys that are absent stay, null deletes one. Errors: as `create`, and `slot.not_found`. */
  updateConfig(name: string, patch: SlotPayload): Promise<SlotChange>
  /**
   * Only what a slot's requests default to: `[model] default`, `default`, `[image]`, `default_voice`, `default_speed`,
   * `default_response_format`. Errors: as `updateConfig`; any other key is `validation.invalid`, a tuning key `slot.tuning_key_denied`.
   */
  updateDefaults(name: string, patch: SlotPayload): Promise<SlotChange>
  /** Drains, stops, removes file and state. A seed needs `force` and leaves a tombstone. Errors: `slot.pinned`, `slot.not_found`. */
  remove(name: string, options: { readonly force: boolean; readonly drainMs: number }): Promise<void>
  /** Offline only. Errors: `slot.illegal_transition`, `slot.exists`, `slot.pinned` (a seed), `slot.not_found`. */
  rename(name: string, to: string): Promise<SlotRow>
  /** Adopts the model's preferred profile if it fits the slot. Errors: `model.not_found`, those of `Slots.restart`. */
  swap(
    name: string,
    request: { readonly modelId: string; readonly persist: boolean; readonly drainMs: number },
  ): Promise<SlotRow>
  /** The command a start now would run. Errors: `slot.not_found`, those of a launch. */
  resolved(name: string): Promise<ResolvedLaunch>
  /** Writes seed slots that are missing, tombstones or not. Errors: `slot.not_found` (no such seed), `config.invalid`. */
  reseed(names: readonly string[] | undefined): Promise<ReseedResult>
}

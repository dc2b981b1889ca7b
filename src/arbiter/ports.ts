import type { ArbiterStatus } from '../contract/arbiter.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Claim } from '../slots/admission/residents.ts'

/** What the arbiter asks of the slots. */
export interface ArbiterSlots {
  rows(): readonly SlotRow[]
  /** Resolves with the end state; rejects with the load's error. */
  load(slot: string): Promise<SlotRow>
  /** Drains, never cuts; `giveUp` lets its callers go on. */
  claim(slot: string): Claim
  /**
   * Stops an image slot that is no use: it did not become ready, or does not let go of its memory while nothing renders. Resolves when
   * nothing of it is left.
   */
  stop(slot: string): Promise<void>
}

/** ComfyUI's own side of one image slot. Source: SPEC 8. */
export interface ComfyClient {
  /** Renders that run or wait in ComfyUI's own queue. Rejects when it cannot be read. */
  queue(): Promise<{ readonly running: number; readonly pending: number }>
  /** Lets go of the diffusion models and their memory (`POST /free`). Rejects when ComfyUI refuses. */
  free(): Promise<void>
  /** `GET /system_stats`, as it is. Rejects when it cannot be read. */
  stats(): Promise<Readonly<Record<string, unknown>>>
}

/** A request's leave to use its group's memory. */
export interface ArbiterPass {
  /** What is left of the request's wait for the load of its slot, in place of `load_wait_s`; absent = it has not waited here. */
  readonly loadWaitMs?: number
  /** The request is over. Idempotent. */
  leave(): void
}

export interface EnterOptions {
  readonly signal: AbortSignal
  /** The client waits no longer than this (`X-Hal0-Wait`); absent = the 120 s of SPEC 8. */
  readonly maxWaitMs?: number
}

export type ArbiterMode = 'llm' | 'img'

/** Which group of slots holds GPU memory: language models or images. Source: SPEC 8 "Arbiter". */
export interface Arbiter {
  /**
   * Before a request is dispatched to this slot: waits until its group has the memory. Slots that are not arbitrated pass at once.
   * Errors: `gpu.image_mode`, `gpu.inference_mode`, `gpu.img_not_ready`, or the reason of `signal`.
   */
  enter(slot: string, options: EnterOptions): Promise<ArbiterPass>
  /** The same where it needs no wait; undefined = `enter` has to be asked. Costs next to nothing. */
  enterNow(slot: string): ArbiterPass | undefined
  /** Why this slot must not start now, for loads that no request of `enter` stands behind; undefined = it may. */
  refusal(slot: string): Hal0Error | undefined
  /** Is the slot unloaded for the other group, to be loaded again? */
  isSaved(slot: string): boolean
  status(): Promise<ArbiterStatus>
  /** Keeps the mode that is on until unpinned. */
  pin(pinned: boolean): Promise<void>
  /** A person's switch. `force`: also against a pin. Errors: `gpu.pinned`, `gpu.img_slot_missing`, and those of `enter`. */
  switchover(request: { readonly mode: ArbiterMode; readonly force: boolean; readonly pin?: boolean }): Promise<void>
  /** Which slots are arbitrated may be others now: files or settings changed. */
  look(): void
  close(): Promise<void>
}

import { MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'

/** A mode stays on at least so long: a switch costs a reload of every model. Source: SPEC 8. */
export const KEEP_MS = 30 * SECOND_MS
/** Image mode ends so long after the last image. Source: SPEC 8. */
export const QUIET_MS = 10 * SECOND_MS

/** How long a mode lasts. */
export interface ModeTiming {
  /** A mode that is wanted no more than the other one stays on at least so long. */
  readonly keepMs: number
  /** Image mode ends so long after the last image, although nobody waits for the other one. */
  readonly quietMs: number
}
export const MODE_TIMING: ModeTiming = { keepMs: KEEP_MS, quietMs: QUIET_MS }

/** Requests wait for their mode at most so long. Source: SPEC 8. */
export const WAIT_MS = 2 * MINUTE_MS
/** Running requests of the language models get so long to end before a switch is given up. Source: SPEC 8. */
export const DRAIN_MS = 2 * MINUTE_MS
/** The image slot gets so long to be ready. Source: SPEC 8. */
export const IMAGE_READY_MS = 2 * MINUTE_MS
/** A process that is being stopped gets so long to be gone. Longer than the grace of an engine's stop. */
export const STOP_MS = 30 * SECOND_MS
/** A reading of ComfyUI's queue older than this is no ground for a switch. */
export const QUEUE_FRESH_MS = SECOND_MS
/** How often ComfyUI's queue is read while it decides. */
export const QUEUE_POLL_MS = 2 * SECOND_MS
/** A ComfyUI that answers nothing for so long cannot be read. */
export const COMFY_ANSWER_MS = 5 * SECOND_MS
/** How often the slots are looked at while a switch waits for them. */
export const SWITCH_POLL_MS = 100
/** Memory of images that could not be freed is tried again after this. */
export const FREE_RETRY_MS = 5 * SECOND_MS

import type { SlotRow } from '../contract/slot-row.ts'
import { messageOf } from '../kernel/errors.ts'
import { announce } from './announce.ts'
import type { ArbiterMode } from './ports.ts'
import { isResident } from './rules/residence.ts'
import type { ArbiterEffects } from './switch-host.ts'

/**
 * Turns begin while ComfyUI runs already: what it holds it loaded when it had the card for itself, and language models have the turn. It is
 * asked to let go, once, unless it renders: nothing is cut short. Source: SPEC 8 "one group holds GPU memory".
 */
export class FreeOnBegin {
  readonly #deps: ArbiterEffects
  /** A daemon that finds turns under way knows from its state whose memory it is. */
  #wasOff = false

  constructor(deps: ArbiterEffects) {
    this.#deps = deps
  }

  look(isOff: boolean, mode: ArbiterMode, images: readonly SlotRow[]): void {
    const begins = this.#wasOff && !isOff && mode === 'llm'
    this.#wasOff = isOff
    if (begins) for (const row of images.filter(isResident)) void this.#free(row)
  }

  async #free(row: SlotRow): Promise<void> {
    try {
      const comfy = this.#deps.comfyOf(row)
      const { running, pending } = await comfy.queue()
      if (running + pending > 0) return
      await comfy.free()
      const message = `turns begin on the GPU: ComfyUI of slot ${row.name} has let go of its models`
      announce(this.#deps, 'info', 'arbiter.freed', message, { slot: row.name })
    } catch (cause) {
      const message = `turns begin on the GPU, and what ComfyUI of slot ${row.name} holds could not be freed: ${messageOf(cause)}`
      announce(this.#deps, 'warning', 'arbiter.not_freed', message, { slot: row.name })
    }
  }
}

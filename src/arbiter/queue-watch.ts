import type { SlotRow } from '../contract/slot-row.ts'
import { readQueues } from './comfy-view.ts'
import type { QueueReading } from './rules/choose-mode.ts'
import { isResident } from './rules/residence.ts'
import type { ArbiterEffects } from './switch-host.ts'

/** What ComfyUI does, as it was last seen. Times are monotonic ms. */
export class QueueWatch {
  /** When an image request or a render was last seen to run. */
  lastImageMs: number
  readonly #effects: ArbiterEffects
  readonly #onRead: () => void
  #reading: QueueReading = { kind: 'unread' }
  #isReading = false
  /** What is being read for an older question answers no newer one. */
  #question = 0

  constructor(effects: ArbiterEffects, lastImageMs: number, onRead: () => void) {
    this.#effects = effects
    this.lastImageMs = lastImageMs
    this.#onRead = onRead
  }

  /** `images`: the rows of the image slots. */
  readingOf(images: readonly SlotRow[]): QueueReading {
    if (!images.some(isResident)) return { kind: 'off' }
    return this.#reading.kind === 'off' ? { kind: 'unread' } : this.#reading
  }

  /** Something happened that the last reading cannot know of. */
  forget(): void {
    this.#question++
    this.#isReading = false
    this.#reading = { kind: 'unread' }
  }

  /** Asks ComfyUI, unless that is being done. */
  read(images: readonly SlotRow[]): void {
    if (this.#isReading) return
    this.#isReading = true
    const question = this.#question
    const { comfyOf, clock } = this.#effects
    void readQueues(images, comfyOf, clock).then((queue) => {
      if (question !== this.#question) return
      this.#isReading = false
      const atMs = clock.monotonicMs()
      if (queue.kind === 'read') {
        const renders = queue.running + queue.pending
        if (renders > 0) this.lastImageMs = atMs
        this.#reading = { kind: 'read', atMs, renders }
      } else this.#reading = queue.kind === 'off' ? queue : { kind: 'unreadable', atMs }
      this.#onRead()
    })
  }
}

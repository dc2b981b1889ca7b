import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp'
import { chooseSequence } from './rules/choose-sequence.ts'

/** A sequence that one request holds until it gives it back. */
export interface HeldSequence {
  readonly id: number
  readonly sequence: LlamaContextSequence
  /** Call exactly once, when nothing is being decoded on it any more. */
  release(): void
}

interface Place {
  readonly id: number
  readonly sequence: LlamaContextSequence
  lastUse: number
  busy: boolean
}

interface Waiter {
  readonly prompt: readonly Token[]
  grant(place: Place): void
}

/** The sequences of a context. Requests beyond their number wait in the order they came; one that leaves loses its turn. */
export class SequencePool {
  readonly #places: readonly Place[]
  readonly #waiters: Waiter[] = []
  #uses = 0

  constructor(context: LlamaContext) {
    this.#places = Array.from({ length: context.totalSequences }, (_, id) => ({
      id,
      sequence: context.getSequence(),
      lastUse: 0,
      busy: false,
    }))
  }

  get waiting(): number {
    return this.#waiters.length
  }

  /** Whether each sequence is held, by id. */
  busy(): readonly boolean[] {
    return this.#places.map((place) => place.busy)
  }

  /** Rejects with `signal.reason` when the signal aborts first. */
  acquire(prompt: readonly Token[], signal: AbortSignal): Promise<HeldSequence> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const leave = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        reject(signal.reason)
      }
      const waiter: Waiter = {
        prompt,
        grant: (place) => {
          signal.removeEventListener('abort', leave)
          resolve(this.#hold(place))
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiters.push(waiter)
      this.#grantNext()
    })
  }

  #hold(place: Place): HeldSequence {
    return {
      id: place.id,
      sequence: place.sequence,
      release: () => {
        place.busy = false
        this.#grantNext()
      },
    }
  }

  #grantNext(): void {
    const free = this.#places.filter((place) => !place.busy)
    if (free.length === 0) return
    const waiter = this.#waiters.shift()
    if (waiter === undefined) return
    const candidates = free.map((place) => ({
      id: place.id,
      sharedTokens: sharedBeginning(place.sequence.contextTokens, waiter.prompt),
      lastUse: place.lastUse,
    }))
    const id = chooseSequence(candidates, waiter.prompt.length)
    const place = free.find((candidate) => candidate.id === id)
    if (place === undefined) return
    place.busy = true
    place.lastUse = ++this.#uses
    waiter.grant(place)
    this.#grantNext()
  }
}

function sharedBeginning(held: readonly Token[], prompt: readonly Token[]): number {
  let shared = 0
  while (shared < held.length && shared < prompt.length && held[shared] === prompt[shared]) shared++
  return shared
}

import { Hal0Error } from '../../src/kernel/errors.ts'
import type { AdmissionRequest, MemoryDesk } from '../../src/slots/admission/admission.ts'
import { loadingError } from '../../src/slots/slot-failures.ts'

/** A desk that answers when the test says so, and remembers what it promised. */
export class HeldDesk implements MemoryDesk {
  isHolding = false
  #asks: { readonly admit: () => void; readonly refuse: (reason: unknown) => void }[] = []
  /** Admissions whose engine has neither come up nor gone; stops whose end nobody has told. */
  readonly open = { promises: 0, stops: 0 }
  /** Every admission so far. */
  admitted = 0

  admit({ signal, onWaiting }: AdmissionRequest): ReturnType<MemoryDesk['admit']> {
    const { open } = this
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const admit = () => {
        this.admitted++
        open.promises++
        let isSettled = false
        resolve({
          phases: { queue: 1 },
          note: '',
          settle: () => {
            if (!isSettled) open.promises--
            isSettled = true
          },
        })
      }
      if (!this.isHolding) return admit()
      const ask = { admit, refuse: reject }
      this.#asks.push(ask)
      signal.addEventListener('abort', () => {
        this.#asks = this.#asks.filter((one) => one !== ask)
        reject(signal.reason)
      })
      // Last: whoever hears of it may want the load no more.
      onWaiting('waits for memory that slot x holds')
    })
  }

  stopBegins(): ReturnType<MemoryDesk['stopBegins']> {
    const { open } = this
    open.stops++
    return { ended: () => void open.stops-- }
  }

  /** How many loads wait for an answer. */
  get waiting(): number {
    return this.#asks.length
  }

  answer(how: 'admit' | 'insufficient' | 'loading'): void {
    const ask = this.#asks.shift()
    if (ask === undefined) return
    if (how === 'admit') ask.admit()
    else if (how === 'loading') ask.refuse(loadingError('s', 'starting', 'waits for memory that slot x holds', 1_000))
    else ask.refuse(Hal0Error.of('slot.preload_evict_insufficient', 'too big for this machine'))
  }
}

/** Pulls that end when the test says so. */
export class HeldPulls {
  readonly missing = new Set<string>()
  #running: { readonly tell: (message: string) => void; readonly end: (error?: Error) => void }[] = []
  #told = 0

  readonly fetch = (signal: AbortSignal, onProgress: (message: string) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const pull = {
        tell: onProgress,
        end: (error?: Error) => {
          this.#running = this.#running.filter((one) => one !== pull)
          if (error === undefined) resolve()
          else reject(error)
        },
      }
      this.#running.push(pull)
      signal.addEventListener('abort', () => pull.end(signal.reason))
    })

  /** How many loads wait for files. */
  get waiting(): number {
    return this.#running.length
  }

  answer(how: 'progress' | 'done' | 'failed'): void {
    const [pull] = this.#running
    if (how === 'progress') pull?.tell(`fetching org/name, ${this.#told++} %`)
    else if (how === 'failed') pull?.end(Hal0Error.of('slot.model_missing', 'the pull was cancelled'))
    else {
      this.missing.clear()
      pull?.end()
    }
  }
}

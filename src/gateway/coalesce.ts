/** Asks once for all who want the same at the same time. */
export interface Coalescer {
  /**
   * The outcome of `fetch` for this key: of the one that runs, else of a new one. A failure is shared by those who wait for it; nothing is kept, so that
   * whoever comes later asks anew. `cut` ends only this caller's wait, with its reason; the fetch itself ends when nobody waits any more.
   */
  share<T>(key: string, fetch: (signal: AbortSignal) => Promise<T>, cut: AbortSignal): Promise<T>
}

interface Running {
  readonly outcome: Promise<unknown>
  readonly ending: AbortController
  waiting: number
}

/** One key must always stand for the same kind of answer. Source: SPEC 11 "Coalesced listing". */
export function createCoalescer(): Coalescer {
  const running = new Map<string, Running>()

  function begin<T>(key: string, fetch: (signal: AbortSignal) => Promise<T>): Running {
    const ending = new AbortController()
    const one: Running = { outcome: fetch(ending.signal), ending, waiting: 0 }
    const forget = (): void => {
      if (running.get(key) === one) running.delete(key)
    }
    one.outcome.then(forget, forget)
    running.set(key, one)
    return one
  }

  return {
    share<T>(key: string, fetch: (signal: AbortSignal) => Promise<T>, cut: AbortSignal): Promise<T> {
      if (cut.aborted) return Promise.reject(cut.reason)
      const one = running.get(key) ?? begin(key, fetch)
      one.waiting++
      return new Promise((resolve, reject) => {
        const onCut = (): void => {
          one.waiting--
          if (one.waiting === 0) {
            if (running.get(key) === one) running.delete(key)
            one.ending.abort(cut.reason)
          }
          reject(cut.reason)
        }
        cut.addEventListener('abort', onCut, { once: true })
        const rest = (): void => cut.removeEventListener('abort', onCut)
        one.outcome.then(
          (value) => {
            rest()
            // One key stands for one kind of answer.
            resolve(value as T)
          },
          (failure: unknown) => {
            rest()
            reject(failure)
          },
        )
      })
    },
  }
}

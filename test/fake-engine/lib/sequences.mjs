// Who is being answered and who waits.

/** The engine's parallel sequences: a fixed number, then first come, first served. */
export class Sequences {
  /** @type {{ start: () => void }[]} */
  #waiting = []
  #active = 0

  /** @param {import('./state.mjs').EngineState} state @param {() => number} total */
  constructor(state, total) {
    this.state = state
    this.total = total
  }

  /** Returns undefined when there is a place, else the wait. @param {import('./generation.mjs').Generation} gen @returns {Promise<void> | undefined} */
  enter(gen) {
    if (this.#active < this.total()) {
      this.#begin()
      gen.holdsPlace = true
      return undefined
    }
    return new Promise((resolve) => {
      const entry = {
        start: () => {
          gen.holdsPlace = true
          resolve()
        },
      }
      this.#waiting.push(entry)
      this.state.add('waiting')
      gen.wake = () => {
        const at = this.#waiting.indexOf(entry)
        if (at >= 0) {
          this.#waiting.splice(at, 1)
          this.state.add('waiting', -1)
        }
        resolve()
      }
    })
  }

  leave() {
    this.#active -= 1
    this.state.add('active', -1)
    this.refill()
  }

  /** Also after the number of places was raised. */
  refill() {
    while (this.#active < this.total()) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.state.add('waiting', -1)
      this.#begin()
      next.start()
    }
  }

  #begin() {
    this.#active += 1
    this.state.add('active')
    this.state.counters.max_active = Math.max(this.state.counters.max_active, this.#active)
  }
}

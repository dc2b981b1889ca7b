import { SWITCH_POLL_MS } from './rules/timing.ts'

interface Open {
  readonly test: () => boolean
  readonly deadlineMs: number
  readonly resolve: (holds: boolean) => void
}

/** The one thing that a switch under way waits for. Times are monotonic ms. */
export class Vigil {
  #open: Open | undefined

  /** Resolves true when `test` holds, false from `deadlineMs` on or when it is given up. */
  wait(test: () => boolean, deadlineMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#open = { test, deadlineMs, resolve }
    })
  }

  /** Looks; answers when to look again, undefined = nothing is waited for. */
  ask(nowMs: number): number | undefined {
    const open = this.#open
    if (open === undefined) return undefined
    const holds = open.test()
    if (!holds && nowMs < open.deadlineMs) return Math.min(nowMs + SWITCH_POLL_MS, open.deadlineMs)
    this.#open = undefined
    open.resolve(holds)
    return undefined
  }

  giveUp(): void {
    this.#open?.resolve(false)
    this.#open = undefined
  }
}

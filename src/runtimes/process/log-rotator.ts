import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { MINUTE_MS } from '../../kernel/units.ts'
import { type LogLimits, rotateLog } from './log-file.ts'

/** How often logs that are being written are looked at. */
const CHECK_EVERY_MS = MINUTE_MS

/** Keeps logs bounded while somebody writes them: those of running engines and the daemon's own. Its timer runs only while it watches something. Source: SPEC 2. */
export class LogRotator {
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits: LogLimits
  /** Watches per path: a slot's next engine may start before the last one's watch has ended. */
  readonly #watched = new Map<string, number>()
  #cancelTimer: CancelTimer | undefined
  /** One rotation at a time: two of the same file would write the same copy. */
  #last: Promise<void> = Promise.resolve()

  constructor(deps: { readonly clock: Clock; readonly log: Log; readonly limits: LogLimits }) {
    this.#clock = deps.clock
    this.#log = deps.log
    this.#limits = deps.limits
  }

  /** Rotates now if the log is over its limit. A failure is logged, never thrown: whoever writes can go on without it. */
  check(path: string): Promise<void> {
    this.#last = this.#last.then(async () => {
      try {
        if (await rotateLog(path, this.#limits)) this.#log.info({ path }, 'log rotated')
      } catch (thrown) {
        this.#log.warn({ path, reason: messageOf(thrown) }, 'log could not be rotated')
      }
    })
    return this.#last
  }

  /** Checks every minute until the promise settles. */
  watchUntil(path: string, end: Promise<unknown>): void {
    this.#watched.set(path, (this.#watched.get(path) ?? 0) + 1)
    this.#arm()
    const forget = () => {
      const left = (this.#watched.get(path) ?? 1) - 1
      if (left > 0) this.#watched.set(path, left)
      else this.#watched.delete(path)
      if (this.#watched.size > 0) return
      this.#cancelTimer?.()
      this.#cancelTimer = undefined
    }
    void end.then(forget, forget)
  }

  #arm(): void {
    this.#cancelTimer ??= this.#clock.setTimer(CHECK_EVERY_MS, () => {
      this.#cancelTimer = undefined
      for (const path of this.#watched.keys()) void this.check(path)
      if (this.#watched.size > 0) this.#arm()
    })
  }
}

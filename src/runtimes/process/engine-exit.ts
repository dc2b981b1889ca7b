import type { ChildProcess } from 'node:child_process'
import { type Clock, sleep } from '../../kernel/clock.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { ExitFacts } from '../runtime.ts'
import { isAlive } from './proc.ts'

/** How an engine's main process ended, and a way to say "look now". */
export interface ExitWatch {
  readonly exited: Promise<ExitFacts>
  /** The process is known to be dead: an adopted one need not wait for the next poll. */
  lookNow(): void
}

const ADOPTED_POLL_MS = SECOND_MS

/**
 * The end of our own child. Its `exit` event, not `close`: that one waits until nobody holds its streams any more.
 */
export function watchChild(child: ChildProcess, clock: Clock): ExitWatch {
  const exited = new Promise<ExitFacts>((resolve) => {
    child.once('exit', (code, signal) => {
      const atMs = clock.nowMs()
      if (signal !== null) resolve({ kind: 'signal', signal, atMs })
      else if (code !== null) resolve({ kind: 'code', code, atMs })
      else resolve({ kind: 'unknown', atMs })
    })
  })
  return { exited, lookNow: () => {} }
}

/** The end of a process that an earlier daemon started: the system tells its code to nobody, so `unknown`. Source: SPEC 4. */
export function watchAdopted(process: { readonly pid: number; readonly startTicks: number }, clock: Clock): ExitWatch {
  let waker = new AbortController()
  const watch = async (): Promise<ExitFacts> => {
    while (seemsAlive(process)) {
      waker = new AbortController()
      await sleep(clock, ADOPTED_POLL_MS, waker.signal)
    }
    return { kind: 'unknown', atMs: clock.nowMs() }
  }
  return { exited: watch(), lookNow: () => waker.abort() }
}

/** Whether this very process is alive, as far as one can tell: `true` when /proc cannot be read just now. */
export function seemsAlive(process: { readonly pid: number; readonly startTicks: number }): boolean {
  try {
    return isAlive(process.pid, process.startTicks)
  } catch {
    // No news is no death.
    return true
  }
}

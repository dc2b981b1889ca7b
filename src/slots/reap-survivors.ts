import type { Publisher } from '../events/bus.ts'
import type { Log } from '../kernel/log.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Runtime } from '../runtimes/runtime.ts'

/** An engine nobody leads any more gets this long to end by itself. */
const SURVIVOR_GRACE_MS = 5 * SECOND_MS

/**
 * Ends every engine that an earlier daemon of this home left running, and says so. Resolves when they are dead.
 * Until adoption exists this is what keeps memory and ports from being held by processes nobody knows.
 */
export async function reapSurvivors(runtime: Runtime, bus: Publisher, log: Log): Promise<void> {
  const survivors = await runtime.findSurvivors()
  await Promise.all(
    survivors.map(async ({ slot, attemptId, process }) => {
      const { pid } = process.ref
      const outcome = await process.stop({ graceMs: SURVIVOR_GRACE_MS })
      const message = `stopped the engine of slot ${slot} that an earlier daemon left running (pid ${pid}, ${outcome})`
      log.warn({ slot, pid, attempt: attemptId, outcome }, message)
      bus.publish({
        type: 'slot.survivor_stopped',
        severity: 'warning',
        source: `slot:${slot}`,
        message,
        data: { slot, pid, outcome },
      })
    }),
  )
}

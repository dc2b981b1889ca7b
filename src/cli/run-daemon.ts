import type { Daemon } from '../daemon.ts'
import type { Output } from './output.ts'
import { aborted, type StopSignals } from './stop-signals.ts'

/** How long running requests may still take after the first signal. */
const DRAIN_MS = 30_000

/**
 * Stays until the daemon has ended: by itself, or after a signal, when requests in flight may end first. A second signal cuts them.
 * Every engine is gone when this resolves (unless `on_exit` says otherwise).
 */
export async function runUntilStopped(daemon: Daemon, signals: StopSignals, output: Output): Promise<void> {
  await Promise.race([daemon.closed, aborted(signals.first)])
  if (!signals.first.aborted) return
  const inFlight = daemon.slots.rows().reduce((sum, row) => sum + row.in_flight, 0)
  output.note(
    inFlight === 0
      ? `hal0: ${signals.first.reason}: stopping`
      : `hal0: ${signals.first.reason}: waiting up to ${DRAIN_MS / 1000} s for ${inFlight} request${inFlight === 1 ? '' : 's'} in flight; once more stops at once`,
  )
  const cut = () => void daemon.stop({ drainMs: 0 }).catch(() => {})
  signals.second.addEventListener('abort', cut, { once: true })
  await daemon.stop({ drainMs: DRAIN_MS })
}

import { DEFAULT_DRAIN_S } from '../contract/limits.ts'
import type { Daemon } from '../daemon.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Output } from './output.ts'
import { aborted, type StopSignals } from './stop-signals.ts'

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
      : `hal0: ${signals.first.reason}: waiting up to ${DEFAULT_DRAIN_S} s for ${inFlight} request${inFlight === 1 ? '' : 's'} in flight; once more stops at once`,
  )
  const cut = () => void daemon.stop({ drainMs: 0 }).catch(() => {})
  signals.second.addEventListener('abort', cut, { once: true })
  await daemon.stop({ drainMs: DEFAULT_DRAIN_S * SECOND_MS })
}

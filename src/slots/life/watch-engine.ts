import { type Clock, sleep } from '../../kernel/clock.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { SlotEffects } from '../effects.ts'
import { nextWatch, WATCH_BEGIN } from '../rules/next-watch.ts'
import { originOf, type StartedEngine } from './started-engine.ts'

/** Source: SPEC 5 "Live watch". */
export const WATCH_EVERY_MS = 2 * SECOND_MS

/**
 * Looks at an engine that is up until `signal` aborts or it is found dead, which is told once. `lastMovedMs`: when a lease last moved bytes.
 * Its exit is told elsewhere. Never rejects. Source: SPEC 5 "Live watch".
 */
export async function watchEngine(
  { clock, effects }: { readonly clock: Clock; readonly effects: Pick<SlotEffects, 'openLiveLook'> },
  engine: StartedEngine,
  lastMovedMs: () => number,
  signal: AbortSignal,
  onDead: (reason: string) => void,
): Promise<void> {
  const live = effects.openLiveLook(originOf(engine), engine.binding.runner.probe, engine.engineKey)
  let state = WATCH_BEGIN
  for (;;) {
    await sleep(clock, WATCH_EVERY_MS, signal)
    if (signal.aborted) break
    const look = await live.look()
    if (signal.aborted) break
    const next = nextWatch(state, look, { nowMs: clock.monotonicMs(), lastMovedMs: lastMovedMs() })
    state = next.state
    if (next.verdict !== 'dead') continue
    onDead(next.reason)
    break
  }
  await live.close()
}

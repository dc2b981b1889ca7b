import { toHal0Error } from '../kernel/errors.ts'
import { err, ok } from '../kernel/result.ts'
import type { LaunchCompared } from './actor-messages.ts'
import type { SlotEffects } from './effects.ts'
import type { PhaseOf } from './phase.ts'

/**
 * Reads the slot's files before what runs is touched: a load of an unchanged launch is then nothing to do, and a mistake in the files
 * costs no working engine. Resolves with the message for the actor; never rejects.
 */
export async function compareLaunch(
  effects: SlotEffects,
  running: PhaseOf<'up'>,
  wish: LaunchCompared['wish'],
): Promise<LaunchCompared> {
  const found = await effects.isChanged(running.engine.binding).then(
    (isChanged) => ok(isChanged ? ('changed' as const) : ('same' as const)),
    (cause: unknown) => err(toHal0Error(cause)),
  )
  return { type: 'launch_compared', attemptId: running.attempt.id, wish, found }
}

import type { SlotRow } from '../contract/slot-row.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import { isSelfManagedRunner } from '../runners/rules/service-keys.ts'
import { noModelBound } from '../slots/launch/resolve-launch.ts'
import { imageNotReadyError, wrongModeError } from './errors.ts'
import { isResident } from './rules/residence.ts'
import type { TurnLoop } from './turn-loop.ts'

/** Why a slot must not start now, for loads that no pass stands behind; undefined = it may. Errors: `gpu.image_mode`, `gpu.inference_mode`. */
export function refusalOf(loop: TurnLoop, slot: string): Hal0Error | undefined {
  const group = loop.groupOf(slot)
  if (group === undefined) return undefined
  switch (loop.stage) {
    case 'rest':
      return loop.state.now.mode === group ? undefined : wrongModeError(group, slot, 'not_now')
    case 'draining':
      // The switch waits for those who were let in before it.
      return loop.book.busySlots(group).includes(slot) ? undefined : wrongModeError(group, slot, 'not_now')
    case 'loading':
      return group === 'img' ? undefined : wrongModeError(group, slot, 'not_now')
    case 'freeing':
      return wrongModeError(group, slot, 'not_now')
  }
}

/** Why it is in vain to unload the language models for this image slot; undefined = nothing is known against it. Errors: `gpu.img_not_ready`, `slot.not_ready`. */
export function imageProblemOf(row: SlotRow | undefined): Hal0Error | undefined {
  if (row === undefined || isResident(row)) return undefined
  if (row.model_id === null && !isSelfManagedRunner(row.runner)) return noModelBound(row.name, row.runner)
  if (row.config_problem !== null) return imageNotReadyError(row.name, new Error(row.config_problem))
  const waitS = row.breaker?.retry_after_s ?? 0
  return waitS > 0 ? imageNotReadyError(row.name, new Error('it failed before and rests'), waitS) : undefined
}

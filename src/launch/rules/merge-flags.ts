import type { LaunchLayer, PlannedFlag } from '../../contract/launch-plan.ts'
import type { RemovedFlag } from './launch-request.ts'

/** A flag on its way into the command. */
export interface LayeredFlag extends PlannedFlag {
  readonly canonical: string
  readonly repeats: boolean
}

export interface MergedFlags {
  /** Each in the place of the occurrence that won. */
  readonly kept: readonly LayeredFlag[]
  readonly replaced: readonly RemovedFlag[]
}

const LAYER_NAMES: Readonly<Record<LaunchLayer, string>> = {
  base: 'hal0',
  model: 'the model',
  profile: 'the profile',
  slot: 'the slot',
}

/**
 * Which of these flags, lowest layer first, make the command? Per canonical flag the last one, where it stands; of repeatable flags all.
 * Source: SPEC 9 "last-wins per canonical flag".
 */
export function mergeFlags(flags: readonly LayeredFlag[]): MergedFlags {
  const winners = new Map(flags.map((flag) => [flag.canonical, flag]))
  const kept: LayeredFlag[] = []
  const replaced: RemovedFlag[] = []
  for (const flag of flags) {
    const winner = winners.get(flag.canonical)
    if (winner === undefined || winner === flag || flag.repeats) kept.push(flag)
    else replaced.push(removedFlag(flag, 'replaced', `${LAYER_NAMES[winner.layer]} sets ${textOf(winner)}`))
  }
  return { kept, replaced }
}

export function removedFlag(
  { flag, values, layer, canonical }: Omit<LayeredFlag, 'repeats'>,
  reason: RemovedFlag['reason'],
  detail: string,
): RemovedFlag {
  return { flag, values, layer, canonical, reason, detail }
}

function textOf({ flag, values }: PlannedFlag): string {
  return [flag, ...values].join(' ').trim()
}

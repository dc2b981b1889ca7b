import type { LaneTarget } from '../../contract/lane.ts'

export type { LaneTarget } from '../../contract/lane.ts'

export const NOTHING: LaneTarget = { kind: 'nothing' }

/** Is it the same to a lane? Another profile on the same model is another target. Source: SPEC 1 "target". */
export function sameTarget(a: LaneTarget, b: LaneTarget): boolean {
  if (a.kind === 'nothing' || b.kind === 'nothing') return a.kind === b.kind
  return a.model === b.model && a.profile === b.profile
}

/** Fit to be the key of a map; no two targets share one. */
export function targetKey(target: LaneTarget): string {
  return target.kind === 'nothing' ? '' : `${target.model}\n${target.profile}`
}

/** For messages. */
export function targetText(target: LaneTarget): string {
  return target.kind === 'nothing' ? 'nothing' : `${target.model} (profile ${target.profile})`
}

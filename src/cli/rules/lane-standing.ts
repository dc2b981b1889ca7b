import type { LaneFailure, LaneRow } from '../../contract/lane.ts'

/**
 * How far is a lane that was just made? `ready`: what it wants runs, or it wants nothing; `failed`: it could not be loaded, or a file is
 * wrong; `working`: neither yet.
 */
export type LaneStanding =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly problem: string; readonly failure: LaneFailure | undefined }
  | { readonly kind: 'working' }

export function laneStanding(row: Pick<LaneRow, 'phase' | 'target' | 'failures' | 'config_problem'>): LaneStanding {
  const { phase, target, failures, config_problem: problem } = row
  if (problem !== null) return { kind: 'failed', problem, failure: undefined }
  if (target.kind === 'nothing' || phase === 'ready') return { kind: 'ready' }
  const failure = failures.find((one) => {
    const { target: failed } = one
    return failed.kind === 'model' && failed.model === target.model && failed.profile === target.profile
  })
  return failure === undefined ? { kind: 'working' } : { kind: 'failed', problem: failure.message, failure }
}

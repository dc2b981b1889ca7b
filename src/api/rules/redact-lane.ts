import type { LaneFailure, LaneRow } from '../../contract/lane.ts'
import { hideFailure, hideText, redact, type Told } from './redact.ts'

/** The keys of a load that failed, as members read them. */
export const LANE_FAILURE_TOLD: Told<LaneFailure> = {
  target: 'told',
  failures: 'told',
  code: 'told',
  cause: 'told',
  message: hideFailure,
  failed_at: 'told',
  retry_at: 'told',
}

/** The keys of a lane's row as members read them. Whose booking it is was decided by the lanes themselves. */
export const LANE_TOLD: Told<LaneRow> = {
  name: 'told',
  device: 'told',
  gpus: 'told',
  phase: 'told',
  target: 'told',
  reason: 'told',
  review_at: 'told',
  current: 'told',
  is_fallback: 'told',
  active: 'told',
  next: 'told',
  manual: 'told',
  default: 'told',
  failures: ({ failures }) => failures.map((failure) => redact(failure, LANE_FAILURE_TOLD)),
  approval: 'told',
  allow_exclusive: 'told',
  in_flight: 'told',
  config_problem: ({ config_problem }) => hideText(config_problem, 'Its file has a mistake.'),
  store_problem: ({ store_problem }) => hideText(store_problem, 'The database has a problem.'),
  // Ids and windows, which members see anyway.
  warnings: 'told',
}

/** A lane's row without paths and log lines. Source: SPEC 14. */
export function redactLane(row: LaneRow): LaneRow {
  return redact(row, LANE_TOLD)
}

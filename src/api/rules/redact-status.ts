import type { Status } from '../../contract/status.ts'
import { hideText, redact, type Told } from './redact.ts'

/** The keys of the status as members read them. */
export const STATUS_TOLD: Told<Status> = {
  version: 'told',
  url: 'told',
  home: () => '',
  pid: 'told',
  started_at: 'told',
  uptime_s: 'told',
  slots: 'told',
  in_flight: 'told',
  queued: 'told',
  settings_problem: ({ settings_problem }) => hideText(settings_problem),
  history_problem: ({ history_problem }) => hideText(history_problem),
  notify_problem: ({ notify_problem }) => hideText(notify_problem),
}

/** The status without paths. Source: SPEC 14. */
export function redactStatus(status: Status): Status {
  return redact(status, STATUS_TOLD)
}

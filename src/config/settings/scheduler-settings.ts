import { SECOND_MS } from '../../kernel/units.ts'
import { configError } from '../toml/mistake.ts'
import type { DaemonSettings } from './daemon-settings.ts'

/** Numbers of the lanes: `[scheduler]` of hal0.toml, and what the environment says in its place. Source: SPEC 12. */
export interface SchedulerSettings {
  /** A lane is looked at this often, whatever happens. */
  readonly tickMs: number
  /** Kept free before a booking. */
  readonly bufferMs: number
  /** Requests may run on so long when a lane switches; 0 = they are cut. */
  readonly drainMs: number
  readonly stopTimeoutMs: number
  readonly loadTimeoutMs: number
  /** Megabytes a second, for estimates before the first load. */
  readonly diskReadMbps: number
}

/** Variable → the key that it overrides, and the least it may say. */
const OVERRIDES = {
  SLOTSERVE_DRAIN_SECONDS: { key: 'drain_seconds', isFit: (value: number) => value >= 0, expected: '0 or more' },
  SLOTSERVE_STOP_TIMEOUT_SECONDS: {
    key: 'stop_timeout_seconds',
    isFit: (value: number) => value >= 0,
    expected: '0 or more',
  },
  SLOTSERVE_LOAD_TIMEOUT_SECONDS: {
    key: 'load_timeout_seconds',
    isFit: (value: number) => value > 0,
    expected: 'more than 0',
  },
  SLOTSERVE_DISK_READ_MBPS: { key: 'disk_read_mbps', isFit: (value: number) => value > 0, expected: 'more than 0' },
} as const

/**
 * What counts for the lanes. An empty variable says nothing. Errors: `config.invalid` naming every variable that is no such number: a daemon
 * does not begin on half of what was meant.
 */
export function schedulerSettingsOf(
  { scheduler }: Pick<DaemonSettings, 'scheduler'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): SchedulerSettings {
  const said: { -readonly [Key in keyof DaemonSettings['scheduler']]: number } = { ...scheduler }
  const mistakes = Object.entries(OVERRIDES).flatMap(([variable, { key, isFit, expected }]) => {
    const text = env[variable]?.trim() ?? ''
    if (text === '') return []
    const value = Number(text)
    if (Number.isFinite(value) && isFit(value)) {
      said[key] = value
      return []
    }
    const message = `expected a number, ${expected}, in the place of [scheduler] ${key}, and it is ${JSON.stringify(text)}`
    return [{ file: 'environment', keyPath: variable, expected: message }]
  })
  if (mistakes.length > 0) throw configError(mistakes)
  return {
    tickMs: said.tick_seconds * SECOND_MS,
    bufferMs: said.buffer_seconds * SECOND_MS,
    drainMs: said.drain_seconds * SECOND_MS,
    stopTimeoutMs: said.stop_timeout_seconds * SECOND_MS,
    loadTimeoutMs: said.load_timeout_seconds * SECOND_MS,
    diskReadMbps: said.disk_read_mbps,
  }
}

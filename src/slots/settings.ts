import type { DaemonSettings } from '../config/settings/daemon-settings.ts'
import { schedulerSettingsOf } from '../config/settings/scheduler-settings.ts'
import { KIB, SECOND_MS } from '../kernel/units.ts'
import type { SanityMode } from './rules/choose-sanity-mode.ts'

/** Numbers of the slot lifecycle that a home can change (`[slots]` in hal0.toml). Source: SPEC 5, 11. */
export interface SlotSettings {
  /** Requests that may wait at one slot. */
  readonly queueLimit: number
  /** SIGTERM to SIGKILL. */
  readonly stopGraceMs: number
  /** The caller of a stop is answered `slot.terminate_timeout` after this; the stop goes on. */
  readonly stopWaitMs: number
  /** SIGTERM to SIGKILL for the slots of lanes: `[scheduler] stop_timeout_seconds`, which their plans count on. */
  readonly laneStopMs: number
  /** A load without a verdict says that it is still warming. */
  readonly loadVerdictMs: number
  /** A load without a verdict is stopped and begun once more; the second time it has failed. */
  readonly loadLimitMs: number
  /** Ready without a request for so long: idle. A slot may say another time. */
  readonly idleTimeoutMs: number
  /** Unloaded so long after its last request; 0 = never. A slot may say another time. */
  readonly unloadAfterMs: number
  readonly admission: 'enforce' | 'warn' | 'off'
  readonly outputSanity: SanityMode
  /** The environment says so (HAL0_SLOT_OUTPUT_SANITY=0), whatever slots say. */
  readonly isSanityOffEverywhere: boolean
}

/** The slots' part of hal0.toml; defaults live in its schema. */
export function slotSettingsOf(
  settings: DaemonSettings,
  env: Readonly<Record<string, string | undefined>> = process.env,
): SlotSettings {
  const { slots } = settings
  return {
    queueLimit: slots.queue_limit,
    stopGraceMs: slots.stop_grace_s * SECOND_MS,
    stopWaitMs: slots.stop_wait_s * SECOND_MS,
    laneStopMs: schedulerSettingsOf(settings, env).stopTimeoutMs,
    loadVerdictMs: slots.load_verdict_s * SECOND_MS,
    loadLimitMs: slots.load_limit_s * SECOND_MS,
    idleTimeoutMs: slots.idle_timeout_s * SECOND_MS,
    unloadAfterMs: slots.unload_after_s * SECOND_MS,
    admission: slots.admission,
    outputSanity: slots.output_sanity,
    isSanityOffEverywhere: env['HAL0_SLOT_OUTPUT_SANITY'] === '0',
  }
}

/** Whoever waits for a lane's stop hears that it takes too long only when the kill had its time too. */
const KILL_SLACK_MS = 10 * SECOND_MS

/** The same settings as the slot of a lane reads them, also after a change. */
export function laneSlotSettings(settings: SlotSettings): SlotSettings {
  const own: SlotSettings = Object.create(settings, {
    stopGraceMs: { get: () => settings.laneStopMs },
    stopWaitMs: { get: () => Math.max(settings.stopWaitMs, settings.laneStopMs + KILL_SLACK_MS) },
  })
  return own
}

/** Main process dead, others of its tree left: they get this long before SIGKILL. Nobody waits for their answer any more. */
export const LEFTOVER_GRACE_MS = SECOND_MS

/** One look at a warming engine. Source: SPEC 5 "Probe". */
export const PROBE_TIMEOUT_MS = 3 * SECOND_MS
/** A look that takes longer than this is not waited for: the next one begins. */
export const PROBE_HANGS_MS = SECOND_MS / 2

/** How much of an engine's log is read to find the decisive line. */
export const LOG_TAIL_BYTES = 64 * KIB

/** serving ↔ ready follows every request; events and the record follow at most this often, with what is so then. */
export const FLIP_INTERVAL_MS = 250

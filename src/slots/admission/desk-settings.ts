import type { DaemonSettings } from '../../config/settings/daemon-settings.ts'
import { MIB, SECOND_MS } from '../../kernel/units.ts'

/** Memory that a dead process held may take so long to be free again; then a start goes on with what there is. Source: SPEC 7. */
const RELEASE_WAIT_MS = 10 * SECOND_MS

/** Settings of the desk; asked for anew in each round. */
export interface DeskSettings {
  /** How long a load waits for memory that busy slots hold. */
  readonly loadWaitMs: number
  /** Slots that exclude each other whatever memory says, by the name of the group. */
  readonly groups: Readonly<Record<string, readonly string[]>>
  readonly evictPressureBytes: number
  readonly evictPressurePct: number
  /** How long the next start waits until memory that a stop freed is really back. */
  readonly releaseWaitMs: number
}

/** The desk's part of hal0.toml; defaults live in its schema. */
export function deskSettingsOf({ slots, dispatcher }: Pick<DaemonSettings, 'slots' | 'dispatcher'>): DeskSettings {
  return {
    loadWaitMs: dispatcher.load_wait_s * SECOND_MS,
    groups: slots.groups,
    evictPressureBytes: slots.evict_pressure_mb * MIB,
    evictPressurePct: slots.evict_pressure_pct,
    releaseWaitMs: RELEASE_WAIT_MS,
  }
}

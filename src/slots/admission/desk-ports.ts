import type { Capacity } from '../../contract/capacity.ts'
import type { Publisher } from '../../events/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { MemoryDesk, MemoryMeter } from './admission.ts'
import type { DeskSettings } from './desk-settings.ts'
import type { EvictionOutcome, Residents } from './residents.ts'
import type { MemorySnapshot } from './rules/memory-limits.ts'
import type { PoolReading } from './rules/memory-map.ts'

export interface DeskDeps {
  readonly meter: MemoryMeter
  readonly residents: Residents
  readonly clock: Clock
  readonly log: Log
  readonly bus: Publisher
  readonly settings: () => DeskSettings
}

/** The desk with what the API and the pressure loop see of it. */
export interface OpenMemoryDesk extends MemoryDesk {
  /** GET /api/capacity. */
  capacity(): Promise<Capacity>
  /** Something has changed that the desk cannot see by itself: it looks again now rather than at its next look. */
  look(): void
  /** Is main memory on its way already: does a load make others go, or is some not back yet from a stop? Reads the meter. */
  isMoving(): Promise<boolean>
  /** Unloads a slot for the machine's sake, known to the desk so that no load makes another one go for the same memory; says `slot.evicted`. */
  evictForPressure(slot: string, heldBytes: number | undefined): Promise<EvictionOutcome>
  /** Who holds memory, as the desk counts it. */
  snapshot(pools: readonly PoolReading[]): MemorySnapshot
  /** Nobody is admitted any more; those who wait get `slot.unloading`. */
  close(): void
}

import type { Clock } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { InferenceRoute } from './rules/route-table.ts'
import type { GatewaySettings } from './settings.ts'
import type { EnginePools } from './wire/engine-pools.ts'

/** What every request to an engine needs. */
export interface RelayDeps {
  readonly pools: EnginePools
  readonly settings: GatewaySettings
  readonly clock: Clock
  /** The error of a slot that does not have a route; `said`: its engine's own words. */
  readonly refusalOf: (slot: string, route: InferenceRoute, said?: string) => Hal0Error
}

/** `unread`: the engine has not read the request and the client has been told nothing; only with `mayComeAgain`. */
export type RelayOutcome = 'over' | 'unread'

/**
 * The death of an engine is told twice, by its connections and by its slot. Who hears it from one waits so long for the other: the slot must
 * know before it is asked for another lease.
 */
export const DEATH_NEWS_MS = 250

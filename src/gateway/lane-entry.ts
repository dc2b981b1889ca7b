import type { Caller } from '../access/caller.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { LaneDoor, LaneStay } from '../lanes/lane-door.ts'
import type { LaneStanding } from '../lanes/rules/lane-standing.ts'
import type { Exchange } from './exchange.ts'
import type { RouteLanes } from './rules/route-lanes.ts'

/** The lanes as this caller finds them; undefined = there are none. Source: SPEC 14 "Among the candidates". */
export function lanesFor(door: LaneDoor | undefined, caller: Caller): RouteLanes | undefined {
  return door === undefined ? undefined : new LaneSight(door, caller)
}

class LaneSight implements RouteLanes {
  readonly #door: LaneDoor
  readonly #caller: Caller

  constructor(door: LaneDoor, caller: Caller) {
    this.#door = door
    this.#caller = caller
  }

  standing(slot: string): LaneStanding {
    return this.#door.standing(slot, this.#caller)
  }

  ownLaneFor(model: string): string | undefined {
    return this.#door.ownLaneFor(model, this.#caller)
  }

  isFallback(slot: string): boolean {
    return this.#door.isFallback(slot)
  }
}

/**
 * Asks the access list for this request; what the list says later ends the exchange. Undefined = the slot is no lane's. Whoever gets a stay
 * leaves it once. Source: SPEC 14.
 */
export function enterLane(
  exchange: Exchange,
  door: LaneDoor | undefined,
  slot: string,
): LaneStay | Hal0Error | undefined {
  return door?.enter(slot, exchange.caller, (error) => exchange.end(error))
}

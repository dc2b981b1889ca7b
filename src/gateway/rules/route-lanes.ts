import type { LaneStanding } from '../../lanes/rules/lane-standing.ts'
import { type RankedSlot, rankOf } from './rank-slots.ts'

/** What resolution asks of the lanes, for one caller. */
export interface RouteLanes {
  /** Undefined = the slot is no lane's. */
  standing(slot: string): LaneStanding
  /** The lane that the caller has booked now with this model, also while its default stands in; undefined = none. */
  ownLaneFor(model: string): string | undefined
  /** Does its default stand in for what was booked? */
  isFallback(slot: string): boolean
}

/** Where a slot stands before anything else is compared. */
type Place = Pick<RankedSlot, 'name' | 'state' | 'idle_reason'>

const OWN = 0
/** A slot, or a lane that is up or loads. */
const FREE = 1
/** An open lane that no request loads. */
const DOWN = 2
const CLOSED = 3

/** Best first: the caller's own lane, free slots and lanes, lanes with nothing to answer with, other people's. Source: SPEC 14. */
export function placeOf(row: Place, lanes: RouteLanes | undefined): 0 | 1 | 2 | 3 {
  switch (lanes?.standing(row.name)) {
    case undefined:
      return FREE
    case 'own':
      return OWN
    case 'closed':
      return CLOSED
    case 'open':
      return rankOf(row) < 2 ? FREE : DOWN
  }
}

/** The first of the best place; undefined = none at all. Without lanes simply the first. */
export function firstForCaller<Row extends Place>(
  inTurn: readonly (Row | undefined)[],
  lanes: RouteLanes | undefined,
): Row | undefined {
  let best: Row | undefined
  for (const row of inTurn) {
    if (row !== undefined && (best === undefined || placeOf(row, lanes) < placeOf(best, lanes))) best = row
  }
  return best
}

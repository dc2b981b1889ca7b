import { isBlocking, isInForce } from '../rules/booking.ts'
import { firstEndingAfter, firstStartingAfter } from '../rules/find-overlaps.ts'
import type { Reservation } from './reservation.ts'

/** What the store says of the bookings that still matter, in memory, by lane. Other than the store it can always be read. */
export interface Mirror {
  /** Blocking ones of a lane, in order; the same array until one of them changes. */
  blocking(lane: string): readonly Reservation[]
  /** As `blocking`, those that end after `nowMs`; the same array until one changes, or is over. */
  upcoming(lane: string, nowMs: number): readonly Reservation[]
  /** Start of the last one that has started, epoch ms; `-Infinity` = none. */
  lastStartMs(lane: string, nowMs: number): number
  get(id: string): Reservation | undefined
  /** As they are in the store now, whatever they were before. */
  put(reservations: readonly Reservation[]): void
  /** Everything, or everything of one lane, as it is in the store now; blocking ones in order. */
  replaceLane(lane: string, reservations: readonly Reservation[]): void
  replaceAll(reservations: readonly Reservation[], starts: readonly { lane: string; startMs: number }[]): void
  lanes(): readonly string[]
}

interface LaneBookings {
  blocking: readonly Reservation[]
  /** Of those that have left `blocking`, and of running ones. */
  lastStartMs: number
  /** The last answer of `upcoming`, and at which place of `blocking` it begins. */
  cached: { readonly from: number; readonly upcoming: readonly Reservation[] } | undefined
}

export function createMirror(): Mirror {
  const lanes = new Map<string, LaneBookings>()
  const byId = new Map<string, Reservation>()

  function of(lane: string): LaneBookings {
    const known = lanes.get(lane)
    if (known !== undefined) return known
    const fresh: LaneBookings = { blocking: [], lastStartMs: Number.NEGATIVE_INFINITY, cached: undefined }
    lanes.set(lane, fresh)
    return fresh
  }

  function set(lane: LaneBookings, blocking: readonly Reservation[]): void {
    lane.blocking = blocking
    lane.cached = undefined
  }

  function putInto(lane: LaneBookings, changed: ReadonlyMap<string, Reservation>): void {
    for (const [id, reservation] of changed) {
      if (isBlocking(reservation)) byId.set(id, reservation)
      else byId.delete(id)
      if (hasStarted(reservation)) lane.lastStartMs = Math.max(lane.lastStartMs, reservation.startMs)
    }
    const others = lane.blocking.filter(({ id }) => !changed.has(id))
    const blocking = [...others, ...[...changed.values()].filter(isBlocking)]
    set(
      lane,
      blocking.toSorted((a, b) => a.startMs - b.startMs),
    )
  }

  function replaceLane(name: string, reservations: readonly Reservation[]): void {
    const lane = of(name)
    for (const { id } of lane.blocking) byId.delete(id)
    set(lane, reservations)
    for (const reservation of reservations) byId.set(reservation.id, reservation)
  }

  return {
    blocking: (lane) => lanes.get(lane)?.blocking ?? NONE,
    upcoming(name, nowMs) {
      const lane = lanes.get(name)
      if (lane === undefined) return NONE
      const from = firstEndingAfter(lane.blocking, nowMs)
      if (lane.cached?.from !== from) {
        lane.cached = { from, upcoming: from === 0 ? lane.blocking : lane.blocking.slice(from) }
      }
      return lane.cached.upcoming
    },
    lastStartMs(name, nowMs) {
      const lane = lanes.get(name)
      if (lane === undefined) return Number.NEGATIVE_INFINITY
      for (let at = firstStartingAfter(lane.blocking, nowMs) - 1; at >= 0; at--) {
        const booking = lane.blocking[at]
        if (booking !== undefined && isInForce(booking)) return Math.max(lane.lastStartMs, booking.startMs)
      }
      return lane.lastStartMs
    },
    get: (id) => byId.get(id),
    put(reservations) {
      for (const name of new Set(reservations.map(({ lane }) => lane))) {
        putInto(of(name), new Map(reservations.filter(({ lane }) => lane === name).map((one) => [one.id, one])))
      }
    },
    replaceLane,
    replaceAll(reservations, starts) {
      const groups = new Map<string, Reservation[]>([...lanes.keys()].map((lane) => [lane, []]))
      for (const reservation of reservations) {
        const group = groups.get(reservation.lane)
        if (group === undefined) groups.set(reservation.lane, [reservation])
        else group.push(reservation)
      }
      for (const [lane, group] of groups) replaceLane(lane, group)
      for (const lane of lanes.values()) lane.lastStartMs = Number.NEGATIVE_INFINITY
      for (const { lane, startMs } of starts) of(lane).lastStartMs = startMs
    },
    lanes: () => [...lanes.keys()],
  }
}

const NONE: readonly Reservation[] = []

function hasStarted({ status }: Reservation): boolean {
  return status === 'active' || status === 'completed' || status === 'ended_early'
}

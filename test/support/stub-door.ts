import { type Caller, userIdOf } from '../../src/access/caller.ts'
import type { Hal0Error } from '../../src/kernel/errors.ts'
import type { LaneDoor, LaneStanding, LaneStay } from '../../src/lanes/lane-door.ts'

export interface StubLane {
  /** Absent = open. */
  readonly standing?: LaneStanding
  /** Of whoever is served; absent = nobody's booking. */
  readonly reservationId?: string
  /** The model it is booked with, by the caller. */
  readonly ownModel?: string
  readonly isFallback?: boolean
}

/** A stay as the test sees it. */
interface SeenStay {
  readonly userId: string
  /** What happened to it, in order: `leased`, `refused`, `waits`, `leave`. */
  readonly log: string[]
  /** The list says something else now, or it is over. */
  end(error: Hal0Error): void
}

/** Lanes without timetables: they answer as the test says. */
export interface StubDoor extends LaneDoor {
  /** Every one that was let in, in order. */
  readonly stays: SeenStay[]
  /** How often `enter` was asked for a lane. */
  asked: number
  /** What the list says on arrival; undefined = it lets in. */
  onArrival: (nth: number) => Hal0Error | undefined
  /** What it says when the lease is there. */
  onLease: () => Hal0Error | undefined
}

export function createStubDoor(lanes: Readonly<Record<string, StubLane>>): StubDoor {
  const door: StubDoor = {
    stays: [],
    asked: 0,
    onArrival: () => undefined,
    onLease: () => undefined,
    standing: (slot) => (lanes[slot] === undefined ? undefined : (lanes[slot].standing ?? 'open')),
    ownLaneFor: (model) => Object.keys(lanes).find((name) => lanes[name]?.ownModel === model),
    isFallback: (slot) => lanes[slot]?.isFallback === true,
    enter(slot, caller, onEnd) {
      const lane = lanes[slot]
      if (lane === undefined) return undefined
      door.asked++
      return door.onArrival(door.asked) ?? stayIn(lane, caller, onEnd)
    },
  }

  function stayIn({ reservationId }: StubLane, caller: Caller, end: SeenStay['end']): LaneStay {
    const log: string[] = []
    door.stays.push({ userId: userIdOf(caller), log, end })
    return {
      reservationId: reservationId ?? null,
      leased() {
        const refusal = door.onLease()
        log.push(refusal === undefined ? 'leased' : 'refused')
        return refusal
      },
      waits: () => void log.push('waits'),
      leave: () => void log.push('leave'),
    }
  }
  return door
}

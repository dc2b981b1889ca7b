import type { EventBus } from '../events/bus.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { type Deferred, deferred } from '../slots/actor/deferred.ts'
import type { SlotBinding } from '../slots/launch/read-binding.ts'
import type { SlotManager } from '../slots/slot-manager.ts'
import type { SlotStanding } from '../slots/standing.ts'
import type { LaneTargets } from './lane-bindings.ts'
import type { LaneSlot, LaneSlotView } from './lane-slot.ts'
import { type LaneTarget, NOTHING, sameTarget, targetText } from './rules/lane-target.ts'

export interface LaneSlotDeps {
  /** Of the lane, and of its slot. */
  readonly name: string
  readonly slots: Pick<SlotManager, 'standing' | 'load' | 'swap' | 'restart' | 'unload' | 'look' | 'onDown'>
  readonly targets: LaneTargets
  readonly bus: Pick<EventBus, 'subscribe'>
}

/** The time that an overtaken caller would have to wait is not known; it is the lane, which decides anew at once. */
const OVERTAKEN_RETRY_S = 1

/** What the lane wants of its slot and has not got yet. */
interface Wish {
  readonly target: LaneTarget
  readonly overtaken: Deferred<never>
}

/** The slot of one lane, driven through its actor. What it is to run is kept in memory alone (`targets`). Source: SPEC 12. */
export function createLaneSlot({ name, slots, targets, bus }: LaneSlotDeps): LaneSlot {
  const listeners = new Set<() => void>()
  let wish: Wish | undefined
  const changed = () => {
    for (const listener of listeners) listener()
  }

  /** Does as the lane wants, until it wants something else. */
  async function go(target: LaneTarget, act: () => Promise<unknown>): Promise<void> {
    const mine: Wish = { target, overtaken: deferred<never>() }
    wish?.overtaken.reject(overtakenError(name, wish.target))
    wish = mine
    const before = targets.targetOf(name)
    targets.setTarget(name, target)
    try {
      await Promise.race([act(), mine.overtaken.promise])
    } catch (thrown) {
      // What could not start stopped nothing: the slot is still what it was.
      const standing = wish === mine ? slots.standing(name) : undefined
      if (standing?.phase === 'up') targets.setTarget(name, standing.bound ? targetOf(standing.bound) : before)
      throw thrown
    } finally {
      if (wish === mine) {
        wish = undefined
        changed()
      }
    }
  }

  return {
    view: () => viewOf(slots.standing(name), wish, targets.targetOf(name)),
    run: (target, { drainMs, restart }) => {
      const before = targets.targetOf(name)
      const standing = slots.standing(name)
      const loads = standing?.bound === undefined ? before : targetOf(standing.bound)
      return go(target, async () => {
        if (restart || standing?.phase === 'empty') await slots.restart(name, { drainMs })
        // It is on its way: whoever wants the same waits with the others.
        else if (standing?.phase === 'loading' && sameTarget(loads, target)) await slots.load(name)
        else await slots.swap(name, undefined, { drainMs })
        // Of an engine that stays: the row says what a start would be now.
        if (standing?.phase === 'up') void slots.look(name).catch(() => undefined)
      })
    },
    stop: ({ drainMs }) =>
      go(NOTHING, async () => {
        await slots.unload(name, { drainMs, force: true })
        void slots.look(name).catch(() => undefined)
      }),
    onChange: (listener) => {
      listeners.add(listener)
      const subscription = bus.subscribe({
        onEvent: ({ source }) => {
          if (source === `slot:${name}`) listener()
        },
      })
      const unsubscribe = slots.onDown((slot) => {
        if (slot === name) listener()
      })
      return () => {
        listeners.delete(listener)
        subscription.close()
        unsubscribe()
      }
    },
  }
}

function viewOf(standing: SlotStanding | undefined, wish: Wish | undefined, target: LaneTarget): LaneSlotView {
  if (standing === undefined) return { state: 'down', running: undefined, inFlight: 0, failure: undefined }
  const { bound, failure, inFlight, phase } = standing
  return {
    state: stateOf(standing, wish),
    running: runningOf(phase, bound, wish?.target ?? target),
    inFlight,
    failure: failure && {
      code: failure.code,
      message: failure.message,
      cause: failure.cause,
      atMs: Date.parse(failure.at),
    },
  }
}

function stateOf({ phase, failure }: SlotStanding, wish: Wish | undefined): LaneSlotView['state'] {
  switch (phase) {
    case 'down':
      return failure === undefined ? 'down' : 'failed'
    // Up, and of no use to anybody: only another start can change that.
    case 'empty':
      return 'failed'
    case 'loading':
      return wish?.target.kind === 'nothing' ? 'stopping' : 'loading'
    default:
      return phase
  }
}

function runningOf(
  phase: SlotStanding['phase'],
  bound: SlotBinding | undefined,
  target: LaneTarget,
): LaneTarget | undefined {
  if (phase === 'down' || phase === 'stopping' || phase === 'empty') return undefined
  if (bound !== undefined) return targetOf(bound)
  return target.kind === 'nothing' ? undefined : target
}

function targetOf({ modelId, profile }: SlotBinding): LaneTarget {
  return { kind: 'model', model: modelId, profile }
}

function overtakenError(lane: string, target: LaneTarget): Hal0Error {
  const what = target.kind === 'nothing' ? 'was to stop' : `was to run ${targetText(target)}`
  return Hal0Error.of('model_switching', `lane ${lane} ${what}, and is to run something else by now`, {
    retryAfterS: OVERTAKEN_RETRY_S,
    details: { lane },
  })
}

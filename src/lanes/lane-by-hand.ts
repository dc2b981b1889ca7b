import { type Caller, nameOf } from '../access/caller.ts'
import type { LaneFile } from '../config/lanes/live-lanes.ts'
import type { NewEvent } from '../contract/events.ts'
import type { LaneRow } from '../contract/lane.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { Clock } from '../kernel/clock.ts'
import { Hal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { isoTime } from '../kernel/units.ts'
import type { LaneActor } from './lane-actor.ts'
import { manualAnswer } from './lane-answers.ts'
import type { Lanes } from './lanes.ts'
import type { ManualStore } from './manual-store.ts'
import type { ModelBook } from './model-facts.ts'
import type { ManualChoice } from './rules/decision.ts'
import { NOTHING, targetText } from './rules/lane-target.ts'

export interface LaneByHandDeps {
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly manual: ManualStore
  readonly models: Pick<ModelBook, 'targetOf'>
  /** Errors of these: `lane.not_found`. */
  readonly actorOf: (lane: string) => LaneActor
  readonly fileOf: (lane: string) => LaneFile
  readonly slotRowOf: (lane: string) => SlotRow
  readonly row: (lane: string) => LaneRow
}

/** What admins do to a lane between bookings. Source: SPEC 12 "Target" 4, "reload". */
export function createLaneByHand(deps: LaneByHandDeps): Pick<Lanes, 'setManual' | 'clearManual' | 'reload'> {
  const { actorOf, clock, fileOf, manual, row } = deps

  function audit(type: string, message: string, lane: string, by: Caller): void {
    deps.log.info({ lane, by: nameOf(by) }, message)
    deps.publish({ type, severity: 'info', source: `lane:${lane}`, message, data: { lane, by: nameOf(by) } })
  }

  return {
    async setManual(name, request, by) {
      const actor = actorOf(name)
      refuseBooked(name, actor)
      const { config } = fileOf(name)
      const choice: ManualChoice = {
        target: request.model === null ? NOTHING : deps.models.targetOf(request.model, request.profile, config.runner),
        madeAtMs: clock.nowMs(),
        madeBy: nameOf(by),
        untilMs: untilOf(request.until, clock.nowMs()),
      }
      manual.set(name, choice)
      audit('lane.manual_set', `lane ${name}: ${nameOf(by)} chose ${targetText(choice.target)} by hand`, name, by)
      actor.failures.forgetAll()
      actor.look()
      return manualAnswer(actor, choice, row(name))
    },
    async clearManual(name, by) {
      const actor = actorOf(name)
      if (manual.find(name) !== undefined) {
        manual.set(name, undefined)
        audit('lane.manual_cleared', `lane ${name}: ${nameOf(by)} took the choice by hand back`, name, by)
        actor.look()
      }
      return row(name)
    },
    async reload(name, by) {
      const actor = actorOf(name)
      audit('lane.reloaded', `lane ${name}: ${nameOf(by)} has its engine started anew`, name, by)
      await actor.reload()
      return deps.slotRowOf(name)
    },
  }
}

/** Errors: `reservation.state`. Source: SPEC 12 "Target" 4. */
function refuseBooked(name: string, actor: LaneActor): void {
  const { running } = actor.seen()
  if (running === undefined) return
  throw Hal0Error.of(
    'reservation.state',
    `lane ${name} is booked until ${isoTime(running.endMs)} (${running.id}); nothing is chosen by hand meanwhile`,
    {
      details: {
        lane: name,
        reservation: running.id,
        remedy: `Wait for its end, or end it: \`hal0 reservation end ${running.id}\`.`,
      },
    },
  )
}

/** Errors: `validation.invalid` for a moment that has passed. */
function untilOf(until: string | undefined, nowMs: number): number | undefined {
  if (until === undefined) return undefined
  const untilMs = Date.parse(until)
  if (untilMs > nowMs) return untilMs
  throw Hal0Error.of('validation.invalid', `until: ${until} has passed; expected a later moment, or none`, {
    param: 'until',
  })
}

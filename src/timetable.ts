import type { Caller } from './access/caller.ts'
import type { Accounts } from './access/people.ts'
import { createLaneAdmin, type LaneAdmin } from './config/lanes/lane-admin.ts'
import type { LiveLanes } from './config/lanes/live-lanes.ts'
import type { LiveSettings } from './config/settings/live-settings.ts'
import { schedulerSettingsOf } from './config/settings/scheduler-settings.ts'
import type { EventBus } from './events/bus.ts'
import type { Home } from './files/home.ts'
import type { Fleet } from './fleet.ts'
import type { Clock } from './kernel/clock.ts'
import { messageOf } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'
import type { Bookings } from './lanes/bookings/bookings.ts'
import { createBookings } from './lanes/bookings/create-bookings.ts'
import { createLanes, type OpenLanes } from './lanes/create-lanes.ts'
import type { LaneTargets } from './lanes/lane-bindings.ts'
import { createLaneMemory } from './lanes/lane-memory.ts'
import { LoadTimes } from './lanes/load-times.ts'
import { openManualStore } from './lanes/manual-store.ts'
import { openModelBook } from './lanes/model-facts.ts'
import { createNotices } from './lanes/notices/create-notices.ts'
import type { Notices } from './lanes/notices/notices.ts'
import { createLaneSlot } from './lanes/real-lane-slot.ts'
import { type BookedThing, refuseBookedLane, refuseBookedTarget } from './lanes/refuse-booked.ts'
import { isBlocking } from './lanes/rules/booking.ts'
import { NOTHING } from './lanes/rules/lane-target.ts'

/** Lanes, their bookings, and who is told of them. */
export interface Timetable {
  readonly lanes: OpenLanes
  readonly laneFiles: LaneAdmin
  readonly bookings: Bookings
  readonly notices: Notices
  /** Before it is deleted. Errors: `model.in_use`, `profile.in_use`. */
  refuseBooked(thing: BookedThing): void
  /** What was booked before anybody was defined goes to the first user. */
  adoptLocal(userId: string): void
  /** Who is about to be deleted or disabled has no open bookings any more. The answer: how many they had. Errors: `lane.store_unavailable`. */
  releaseUser(userId: string, why: 'deleted' | 'disabled', by: Caller): number
  /** Files or settings may say something else: models are read again, and every lane looks. Never rejects. */
  look(): Promise<void>
  close(): Promise<void>
}

export interface TimetableDeps {
  readonly home: Home
  readonly live: LiveSettings
  readonly liveLanes: LiveLanes
  readonly targets: LaneTargets
  readonly fleet: Fleet
  readonly people: Accounts
  readonly bus: EventBus
  readonly clock: Clock
  readonly log: Log
  /** Where people reach this daemon; '' before it listens. */
  readonly url: () => string
  readonly knownRunners: () => readonly string[]
  /** hal0 itself has written these files (absolute paths): everybody looks at them. */
  readonly settingsWritten: (files: readonly string[]) => Promise<void>
}

/** Builds it on slots that are open: a lane begins where its engine is. */
export async function openTimetable(deps: TimetableDeps): Promise<Timetable> {
  const { home, live, liveLanes, targets, fleet, people, bus, clock, log } = deps
  const { slots, store } = fleet
  // A bad variable is told at the start, not when the first lane looks.
  let numbers = { of: live.settings(), are: schedulerSettingsOf(live.settings(), process.env) }
  const publish: EventBus['publish'] = (event) => bus.publish(event)
  /** Asked at each look of each lane. */
  const scheduler = () => {
    const settings = live.settings()
    if (numbers.of !== settings) numbers = { of: settings, are: schedulerSettingsOf(settings, process.env) }
    return numbers.are
  }
  const models = await openModelBook(home, log)
  const times = new LoadTimes({
    loads: store.loads,
    sizeBytes: (model) => models.sizeBytes(model),
    settings: scheduler,
  })
  fleet.onLoad(({ slot }) => times.loadEnded(slot))
  const memory = createLaneMemory({
    meter: fleet.meter,
    hardware: fleet.hardware,
    configOf: (lane) => targets.configOf(lane),
    pidOf: (lane) => slots.row(lane)?.pid ?? null,
  })
  const notices = createNotices({
    ...{ db: store.db, clock, log, publish, people },
    settings: () => live.settings().notify,
    baseUrl: deps.url,
  })
  /** The bookings ask the lanes whether one starts, the lanes ask the bookings for the calendar. */
  const later: { lanes?: OpenLanes } = {}
  const { bookings, calendar, ...book } = createBookings({
    ...{ db: store.db, dbProblem: store.problem, clock, log, publish, people, notices },
    lane: (name) => {
      const file = liveLanes.find(name)
      return file && { config: file.config, defaultTarget: later.lanes?.defaultOf(name) ?? NOTHING }
    },
    lanes: () => liveLanes.all().map(({ name }) => name),
    isStarting: (id) => later.lanes?.isStarting(id) === true,
    resolveTarget: async (lane, model, profile) => {
      await models.refresh()
      return models.targetOf(model, profile, liveLanes.find(lane)?.config.runner)
    },
    estimateMs: (lane, target) => times.estimate(lane, target).ms,
    hasLoaded: (lane, target) => times.estimate(lane, target).source === 'history',
    exceedsVram: async (lane, model) => {
      const totalBytes = await memory.totalBytes(lane)
      const sizeBytes = models.sizeBytes(model)
      return totalBytes !== undefined && sizeBytes !== undefined && sizeBytes > totalBytes
    },
  })
  /** Port and record of a lane that is no more; a slot or a lane of that name may have come meanwhile. */
  async function forget(lane: string): Promise<void> {
    try {
      await slots.syncFiles()
      if (slots.row(lane) === undefined) await slots.forget(lane)
    } catch (cause) {
      log.warn({ lane, reason: messageOf(cause) }, 'what is left of a lane that is gone could not be taken away')
    }
  }
  const manual = openManualStore(store.db, log)
  /** Another lane of this name begins with its own default. */
  function forgetChoice(lane: string): void {
    if (manual.find(lane) === undefined) return
    try {
      manual.set(lane, undefined)
    } catch (cause) {
      log.warn({ lane, reason: messageOf(cause) }, 'the choice by hand of a lane that is gone could not be taken away')
    }
  }
  const lanes = createLanes({
    ...{ clock, log, publish, calendar, bookings, people, models, times },
    files: liveLanes,
    settings: scheduler,
    tell: (notice) => notices.tell(notice),
    wasTold: (event, reservationId) => notices.wasTold(event, reservationId),
    manual,
    slotOf: (name) => createLaneSlot({ name, slots, targets, bus }),
    slotRow: (name) => slots.row(name),
    describeHolders: (lane) => memory.describeHolders(lane),
    missingGpus: (lane) => memory.missingGpus(lane),
    onRetired: (lane) => void forget(lane),
  })
  later.lanes = lanes
  const files = createLaneAdmin({ home, knownRunners: deps.knownRunners, written: deps.settingsWritten })
  const openBookings = (lane: string) => calendar.upcoming(lane, clock.nowMs()).filter(isBlocking)
  /** Only where somebody claims a card: asking drivers takes a while. */
  async function lookAtCards(): Promise<void> {
    if (liveLanes.all().some(({ config }) => config.gpus.length > 0)) await memory.look()
  }
  lanes.look()
  // A driver that is slow delays no start; what it shows is told when it has answered.
  void lookAtCards().then(() => lanes.look())

  return {
    lanes,
    laneFiles: {
      ...files,
      remove: async (name) => {
        refuseBookedLane(name, openBookings(name))
        await files.remove(name)
        forgetChoice(name)
      },
    },
    bookings,
    refuseBooked(thing) {
      refuseBookedTarget(
        thing,
        liveLanes.all().flatMap(({ name }) => openBookings(name)),
      )
    },
    notices,
    adoptLocal: (userId) => book.adoptLocal(userId),
    releaseUser: (userId, why, by) => book.releaseUser(userId, why, by),
    look: async () => {
      await Promise.all([models.refresh(), lookAtCards()])
      lanes.look()
    },
    close: async () => {
      lanes.close()
      await notices.close()
      book.close()
    },
  }
}

import { userIdOf } from '../access/caller.ts'
import { DELETED_USER, type People } from '../access/people.ts'
import type { LaneFile, LiveLanes } from '../config/lanes/live-lanes.ts'
import { defaultProfileOf } from '../config/profiles/profiles-file.ts'
import type { SchedulerSettings } from '../config/settings/scheduler-settings.ts'
import type { NewEvent } from '../contract/events.ts'
import type { LaneTarget } from '../contract/lane.ts'
import type { ReservationStatus } from '../contract/reservation.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { Clock } from '../kernel/clock.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { listNames } from '../kernel/list-names.ts'
import type { Log } from '../kernel/log.ts'
import { MINUTE_MS, SECOND_MS } from '../kernel/units.ts'
import type { Bookings } from './bookings/bookings.ts'
import type { Calendar } from './bookings/calendar.ts'
import { LaneActor, type LaneFacts } from './lane-actor.ts'
import { explainLane, timelineOf } from './lane-answers.ts'
import { createLaneByHand } from './lane-by-hand.ts'
import type { LaneDoor } from './lane-door.ts'
import { buildLaneRow } from './lane-rows.ts'
import type { LaneSlot } from './lane-slot.ts'
import { createLaneWarner } from './lane-warner.ts'
import type { Lanes } from './lanes.ts'
import type { LoadTimes } from './load-times.ts'
import type { ManualStore } from './manual-store.ts'
import type { ModelBook } from './model-facts.ts'
import type { Notices } from './notices/notices.ts'
import { isHolder } from './rules/booking.ts'
import { NOTHING } from './rules/lane-target.ts'

export interface LanesDeps {
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly files: Pick<LiveLanes, 'all' | 'find'>
  readonly settings: () => SchedulerSettings
  readonly calendar: Calendar
  readonly bookings: Pick<Bookings, 'list'>
  readonly people: Pick<People, 'byId'>
  readonly tell: Notices['tell']
  /** Absent = only what this life told counts. */
  readonly wasTold?: Notices['wasTold']
  readonly manual: ManualStore
  readonly models: Pick<ModelBook, 'targetOf' | 'fingerprintOf' | 'refresh'>
  readonly times: Pick<LoadTimes, 'estimate'>
  readonly slotOf: (lane: string) => LaneSlot
  readonly slotRow: (lane: string) => SlotRow | undefined
  readonly describeHolders: (lane: string) => Promise<string>
  /** GPUs of the lane that this machine does not show, as last read. Absent = nobody looks. */
  readonly missingGpus?: (lane: string) => readonly number[]
  /** Nothing of a lane that is no more runs. */
  readonly onRetired: (lane: string) => void
}

/** The lanes with what the daemon does to all of them. */
export interface OpenLanes extends Lanes {
  readonly door: LaneDoor
  /** Does the lane load for this booking? Source: SPEC 13 "while it starts". */
  isStarting(bookingId: string): boolean
  /** What a lane runs by itself. Undefined = there is no such lane. */
  defaultOf(lane: string): LaneTarget | undefined
  /** Lanes, models or settings may be others: lanes whose file is new begin, those whose file is gone stop what they run and end, all look. */
  look(): void
  /** No more decisions; what runs is let be. */
  close(): void
}

/** One loop per lane file. Source: SPEC 12. */
export function createLanes(deps: LanesDeps): OpenLanes {
  const { calendar, clock, files, manual, people } = deps
  const actors = new Map<string, LaneActor>()
  const missingGpus = (lane: string) => deps.missingGpus?.(lane) ?? []
  const warn = createLaneWarner({ ...deps, missingGpus: ({ name }) => missingGpus(name) })
  const nameOfUser = (userId: string): string => people.byId(userId)?.name ?? DELETED_USER

  function actorOf(name: string): LaneActor {
    const actor = actors.get(name)
    if (actor !== undefined) return actor
    throw noSuchLane(name, [...actors.keys()])
  }
  function fileOf(name: string): LaneFile {
    const file = files.find(name)
    if (file === undefined) throw noSuchLane(name, [...actors.keys()])
    return file
  }

  /** A model that is gone is a target that fails, and says so; it is not nothing. */
  function defaultOf({ default: wanted, runner }: LaneFile['config']): LaneTarget {
    if (wanted === undefined) return NOTHING
    try {
      return deps.models.targetOf(wanted.model, wanted.profile, runner)
    } catch {
      return { kind: 'model', model: wanted.model, profile: wanted.profile ?? defaultProfileOf('llm') }
    }
  }

  function factsOf(name: string, config: LaneFile['config']): LaneFacts {
    const { tickMs, bufferMs, drainMs, stopTimeoutMs, loadTimeoutMs } = deps.settings()
    return {
      ...{ tickMs, bufferMs, drainMs, stopTimeoutMs, loadTimeoutMs },
      minPreloadMs: config.min_preload_s * SECOND_MS,
      default: defaultOf(config),
      manual: manual.find(name),
      noShowMs: config.no_show_minutes * MINUTE_MS,
    }
  }

  let refreshing: Promise<void> | undefined
  const refreshModels = () => {
    refreshing ??= deps.models.refresh().finally(() => {
      refreshing = undefined
    })
  }

  function look(): void {
    warn(files.all())
    const names = new Set(files.all().map(({ name }) => name))
    for (const [name, actor] of actors) {
      if (names.has(name)) actor.wake()
      else {
        actors.delete(name)
        void actor.retire(deps.settings().drainMs).then(() => deps.onRetired(name))
      }
    }
    for (const name of names) {
      if (actors.has(name) || deps.slotRow(name) === undefined) continue
      let lastFile = fileOf(name)
      // A file that has just gone counts until its lane is retired, a moment later.
      const configOf = () => {
        lastFile = files.find(name) ?? lastFile
        return lastFile.config
      }
      const actor = new LaneActor({
        name,
        clock,
        log: deps.log,
        publish: deps.publish,
        slot: deps.slotOf(name),
        calendar,
        facts: () => factsOf(name, configOf()),
        estimateMs: (target) => deps.times.estimate(name, target).ms,
        fingerprintOf: (target) => {
          const { device, gpus, runner } = configOf()
          return JSON.stringify([deps.models.fingerprintOf(target), device, gpus, runner])
        },
        refreshModels,
        nameOfUser,
        tell: deps.tell,
        ...(deps.wasTold === undefined ? {} : { wasTold: deps.wasTold }),
        describeHolders: () => deps.describeHolders(name),
      })
      actors.set(name, actor)
      actor.wake()
    }
  }

  const row = (name: string) =>
    buildLaneRow({
      file: fileOf(name),
      actor: actorOf(name),
      inFlight: deps.slotRow(name)?.in_flight ?? 0,
      manual: manual.find(name),
      storeProblem: calendar.problem,
      nameOfUser,
      missingGpus: missingGpus(name),
    })

  function slotRowOf(name: string): SlotRow {
    const slot = deps.slotRow(name)
    if (slot === undefined) throw noSuchLane(name, [...actors.keys()])
    return slot
  }

  const door: LaneDoor = {
    standing(slot, caller) {
      const running = actors.get(slot)?.seen().running
      if (running === undefined) return actors.has(slot) ? 'open' : undefined
      return isHolder(running, userIdOf(caller)) ? 'own' : 'closed'
    },
    ownLaneFor(model, caller) {
      const userId = userIdOf(caller)
      for (const [name, actor] of actors) {
        const { running } = actor.seen()
        if (running?.use.kind === 'model' && running.use.model === model && isHolder(running, userId)) return name
      }
      return undefined
    },
    isFallback: (slot) => actors.get(slot)?.isFallback === true,
    enter: (slot, caller, onEnd) => actors.get(slot)?.enter(userIdOf(caller), onEnd),
  }

  return {
    ...createLaneByHand({ ...deps, actorOf, fileOf, slotRowOf, row }),
    door,
    look,
    rows: () => [...actors.keys()].toSorted().map(row),
    row,
    isStarting: (bookingId) => [...actors.values()].some((actor) => actor.isStarting(bookingId)),
    defaultOf: (lane) => {
      const file = files.find(lane)
      return file === undefined ? undefined : defaultOf(file.config)
    },
    explain: (name, atMs) => explainLane(actorOf(name), atMs, (target) => deps.times.estimate(name, target)),
    timeline: (name, window, by) => {
      const actor = actorOf(name)
      return timelineOf(actor, window, deps.bookings.list({ lane: name, ...window, status: SHOWN }, by))
    },
    close() {
      for (const actor of actors.values()) actor.close()
    },
  }
}

/** What a timeline shows: all that held or holds its window. */
const SHOWN: readonly ReservationStatus[] = ['pending', 'approved', 'active', 'completed', 'ended_early']

function noSuchLane(name: string, known: readonly string[]): Hal0Error {
  const list = known.length === 0 ? 'there are no lanes' : `there are: ${listNames(known.toSorted())}`
  return Hal0Error.of('lane.not_found', `there is no lane ${JSON.stringify(name)}; ${list}`, {
    details: {
      lane: name,
      remedy: 'List them with `hal0 lane list`, or make one: `hal0 lane create NAME --device cpu`.',
    },
  })
}

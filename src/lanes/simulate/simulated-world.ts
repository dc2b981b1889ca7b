import Database from 'better-sqlite3'
import type { NewEvent } from '../../contract/events.ts'
import { silentLog } from '../../kernel/log.ts'
import { migrate } from '../../store/migrations.ts'
import type { Bookings } from '../bookings/bookings.ts'
import { createBookings } from '../bookings/create-bookings.ts'
import { createLanes, type OpenLanes } from '../create-lanes.ts'
import { openManualStore } from '../manual-store.ts'
import { NOTHING } from '../rules/lane-target.ts'
import { LaneTally } from './lane-tally.ts'
import type { Scenario } from './read-scenario.ts'
import type { SimulatedClock } from './simulated-clock.ts'
import { createSimulatedModels, type SimulatedModels } from './simulated-models.ts'
import { createSimulatedPeople, type SimulatedPeople } from './simulated-people.ts'
import { simulatedRow } from './simulated-row.ts'
import type { SimulatedSlot } from './simulated-slot.ts'
import { SimulationJournal } from './simulation-journal.ts'
import { createSimulationTeller } from './simulation-teller.ts'

/** One lane of a simulated day. */
export interface SimulatedLane {
  readonly slot: SimulatedSlot
  readonly tally: LaneTally
}

/** The real rules, loops and bookings, over engines, people and models of a scenario. */
export interface SimulatedWorld {
  readonly people: SimulatedPeople
  readonly bookings: Bookings
  readonly lanes: OpenLanes
  readonly journal: SimulationJournal
  readonly models: Pick<SimulatedModels, 'setBroken'>
  lane(name: string): SimulatedLane
  /** How the next booking is called; further ones of its series are `NAME-2` and so on. */
  nameNext(id: string): void
  close(): void
}

/** Nothing runs before `lanes.look()`. */
export function openSimulatedWorld(scenario: Scenario, clock: SimulatedClock): SimulatedWorld {
  const db = new Database(':memory:')
  migrate(db, { nowMs: clock.nowMs(), version: 'simulated', path: ':memory:' })
  const people = createSimulatedPeople(scenario.people)
  const models = createSimulatedModels(scenario, clock)
  const journal = new SimulationJournal(clock, scenario.zone)
  const simulated = new Map<string, SimulatedLane>()
  for (const { name } of scenario.lanes) {
    const tally = new LaneTally(name)
    const slot = models.openSlot(name, (isReady) => {
      tally.count('loads')
      if (!isReady) tally.count('failed_loads')
    })
    simulated.set(name, { slot, tally })
  }
  function laneOf(name: string): SimulatedLane {
    const lane = simulated.get(name)
    if (lane === undefined) throw new Error(`the scenario has no lane ${name}`)
    return lane
  }
  const files = { all: () => scenario.lanes, find: (name: string) => scenario.lanes.find((lane) => lane.name === name) }
  const ids = createNames()
  const shared = { clock, log: silentLog, people, publish: (event: NewEvent) => teller.publish(event) }

  // Each knows the others: nothing is asked before all are there.
  const { bookings, calendar, ...book } = createBookings({
    ...shared,
    db,
    notices: { tell: (notice) => teller.tell(notice) },
    lane: (name) => {
      const file = files.find(name)
      return file && { config: file.config, defaultTarget: lanes.defaultOf(name) ?? NOTHING }
    },
    lanes: () => scenario.lanes.map(({ name }) => name),
    isStarting: (id) => lanes.isStarting(id),
    resolveTarget: async (_lane, model, profile) => models.book.targetOf(model, profile, undefined),
    estimateMs: (lane, target) => models.times.estimate(lane, target).ms,
    exceedsVram: async () => false,
    newId: (kind) => ids.next(kind),
  })
  const lanes = createLanes({
    ...shared,
    ...{ files, calendar, bookings },
    settings: () => scenario.scheduler,
    tell: (notice) => teller.tell(notice),
    manual: openManualStore(db, silentLog),
    models: models.book,
    times: models.times,
    slotOf: (name) => laneOf(name).slot,
    slotRow: (name) => {
      const file = files.find(name)
      return file && simulatedRow(file, laneOf(name).slot, clock.nowMs())
    },
    describeHolders: async () => '',
    onRetired: () => {},
  })
  const teller = createSimulationTeller({
    ...{ bookings, clock, journal, lanes, people },
    lane: laneOf,
    zone: scenario.zone,
  })

  return {
    ...{ people, bookings, lanes, journal, models },
    lane: laneOf,
    nameNext: (id) => ids.nameNext(id),
    close() {
      lanes.close()
      book.close()
      db.close()
    },
  }
}

/** Names of bookings instead of random ones: the same day is the same twice, and people know what is meant. */
function createNames() {
  let name = ''
  let given = 0
  let series = 0
  return {
    nameNext(id: string): void {
      name = id
      given = 0
    },
    next(kind: 'r' | 's'): string {
      if (kind === 's') return `series-${(series += 1)}`
      given += 1
      return given === 1 ? name : `${name}-${given}`
    },
  }
}

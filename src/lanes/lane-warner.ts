import type { LaneFile } from '../config/lanes/live-lanes.ts'
import type { NewEvent } from '../contract/events.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Calendar } from './bookings/calendar.ts'
import { laneWarnings } from './rules/lane-warnings.ts'

export interface LaneWarnerDeps {
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly calendar: Pick<Calendar, 'upcoming'>
  /** See `LaneWarningFacts`. */
  readonly missingGpus: (file: LaneFile) => readonly number[]
}

/** Asked whenever the files of lanes may be others: tells log and bus what is worth knowing of them, each once. For edits by hand, too. */
export function createLaneWarner({
  clock,
  log,
  publish,
  calendar,
  missingGpus,
}: LaneWarnerDeps): (files: readonly LaneFile[]) => void {
  let told: ReadonlyMap<string, string> = new Map()
  return (files) => {
    const nowMs = clock.nowMs()
    const found = files.map((file): [string, string] => {
      const { name, config } = file
      const facts = { config, missingGpus: missingGpus(file), bookings: calendar.upcoming(name, nowMs), nowMs }
      return [name, laneWarnings(facts).join('; ')]
    })
    for (const [lane, text] of found) {
      if (text === '' || told.get(lane) === text) continue
      const message = `lane ${lane}: ${text}`
      log.warn({ lane }, message)
      publish({ type: 'lane.warning', severity: 'warning', source: `lane:${lane}`, message, data: { lane } })
    }
    told = new Map(found)
  }
}

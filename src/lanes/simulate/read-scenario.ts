import type { z } from 'zod'
import type { Person } from '../../access/people.ts'
import type { LaneFile } from '../../config/lanes/live-lanes.ts'
import { type SchedulerSettings, schedulerSettingsOf } from '../../config/settings/scheduler-settings.ts'
import { readConfigText } from '../../config/toml/config-text.ts'
import type { ConfigMistake } from '../../config/toml/mistake.ts'
import { findSchemaMistakes } from '../../config/toml/rules/schema-mistakes.ts'
import { isTable, type Table } from '../../config/toml/rules/table.ts'
import { parseTomlData } from '../../config/toml/toml-file.ts'
import { type ReservationRequest, reservationRequestSchema } from '../../contract/reservation.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { isoTime, SECOND_MS } from '../../kernel/units.ts'
import { isLaneFile, keyPathOf } from './rules/scenario-keys.ts'
import { bookingName, findScenarioMistakes } from './rules/scenario-mistakes.ts'
import { type Day, readDay, readMoment } from './rules/scenario-times.ts'
import { type ScenarioFile, scenarioSchema } from './scenario-schema.ts'

/** A model of a scenario: no file, only what it takes to load it. */
export interface ScenarioModel {
  readonly profile: string
  readonly sizeBytes: number | undefined
  /** Undefined = as estimated by its size. */
  readonly loadMs: number | undefined
  readonly failsFirst: number
  /** Loads that end in this window fail too, epoch ms, half-open. Undefined = none. */
  readonly failsWithin: { readonly fromMs: number; readonly untilMs: number } | undefined
  readonly failMessage: string
}

/** One thing that somebody does, or that happens. */
export type ScenarioStep = { readonly atMs: number } & (
  | {
      readonly kind: 'book'
      readonly id: string
      readonly user: string
      readonly request: ReservationRequest
      readonly isApproved: boolean
    }
  | { readonly kind: 'end' | 'cancel' | 'approve' | 'reject'; readonly booking: string }
  | { readonly kind: 'extend'; readonly booking: string; readonly minutes: number }
  | {
      readonly kind: 'manual'
      readonly lane: string
      readonly model: string | null
      readonly profile: string | undefined
      readonly untilMs: number | undefined
    }
  | { readonly kind: 'clear' | 'crash'; readonly lane: string }
  | { readonly kind: 'request'; readonly lane: string; readonly user: string; readonly ms: number }
  | { readonly kind: 'jump'; readonly ms: number }
  /** Loads of this model fail from now on, or do not any more: somebody has changed its file. */
  | { readonly kind: 'model'; readonly model: string; readonly isBroken: boolean }
)

/** A day to be played. */
export interface Scenario extends Day {
  readonly scheduler: SchedulerSettings
  readonly stopMs: number
  readonly models: ReadonlyMap<string, ScenarioModel>
  /** In order of name. */
  readonly lanes: readonly LaneFile[]
  /** At least one of them is an admin. */
  readonly people: readonly Person[]
  /** In order of time; at the same moment bookings first, then as in the file. */
  readonly steps: readonly ScenarioStep[]
}

/** Reads the file of `hal0 lane simulate`; every mistake at once. Source: SPEC 2. */
export async function readScenario(path: string): Promise<Result<Scenario, readonly ConfigMistake[]>> {
  const mistake = (expected: string) => err([{ file: path, keyPath: '', expected }])
  const text = await readConfigText(path)
  if (text === 'absent') return mistake('there is no such file; expected a scenario')
  return text.ok ? parseScenario(path, text.value) : err([text.error])
}

const LANE_FILE =
  'this is the file of a lane; expected a scenario: one with `start`, in which such keys stand under [lanes.NAME]'

/** As `readScenario`, on text that is there already. `path`: how mistakes name it. */
export function parseScenario(path: string, text: string): Result<Scenario, readonly ConfigMistake[]> {
  const data = parseTomlData(path, text)
  if (!data.ok) return err([data.error])
  const said = withPlainTimes(data.value)
  if (isLaneFile(said)) return err([{ file: path, keyPath: '', expected: LANE_FILE }])
  const parsed = scenarioSchema.safeParse(said)
  const ofForm = parsed.success ? [] : findSchemaMistakes(scenarioSchema, parsed.error)
  const told = new Set(ofForm.map((mistake) => mistake.path.join('.')))
  const others = findScenarioMistakes(said).filter((mistake) => !told.has(mistake.path.join('.')))
  const mistakes = [...ofForm, ...others].map(({ path: keys, expected }) => {
    return { file: path, keyPath: keyPathOf(said, keys), expected }
  })
  if (!parsed.success || mistakes.length > 0) return err(mistakes)
  return ok(scenarioOf(parsed.data))
}

/** TOML has times of its own: written without quotes they mean the same. */
function withPlainTimes(table: Table): Table {
  const plain = (value: unknown): unknown => {
    if (value instanceof Date) return value.toISOString()
    if (Array.isArray(value)) return value.map(plain)
    return isTable(value) ? withPlainTimes(value) : value
  }
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, plain(value)]))
}

function scenarioOf(file: ScenarioFile): Scenario {
  const day = readDay(file)
  if (day === undefined) throw new Error('the day of a scenario was not looked at')
  const lanes = Object.entries(file.lanes).map(([name, config]) => ({ name, config, problem: undefined }))
  const models = new Map(Object.entries(file.models).map(([id, model]) => [id, modelOf(model, day)]))
  const steps = [...bookingsOf(file, day), ...modelStepsOf(models, day), ...stepsOf(file, day)]
  return {
    ...day,
    scheduler: schedulerOf(file, steps),
    stopMs: file.stop_s * SECOND_MS,
    models,
    lanes: lanes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    people: peopleOf(file),
    steps: steps.toSorted((a, b) => a.atMs - b.atMs),
  }
}

/** Looks between the moments that count find nothing here, where no wake is lost; a day of them takes long. Only a clock that jumps needs them. */
const QUIET_TICK_MS = 30 * SECOND_MS
/** Looked at more often than this, a long day would not come to its end. */
const SHORTEST_TICK_MS = SECOND_MS

function schedulerOf(file: ScenarioFile, steps: readonly ScenarioStep[]): SchedulerSettings {
  const settings = schedulerSettingsOf(file, {})
  const leastMs = steps.some(({ kind }) => kind === 'jump') ? SHORTEST_TICK_MS : QUIET_TICK_MS
  return { ...settings, tickMs: Math.max(settings.tickMs, leastMs) }
}

const BYTES_PER_GB = 1e9

function modelOf(model: ScenarioFile['models'][string], day: Day): ScenarioModel {
  const { profile, size_gb, load_s, fails, fails_from: from, fails_until: until } = model
  return {
    profile,
    sizeBytes: size_gb === undefined ? undefined : size_gb * BYTES_PER_GB,
    loadMs: load_s === undefined ? undefined : load_s * SECOND_MS,
    failsFirst: fails,
    failsWithin:
      from === undefined && until === undefined
        ? undefined
        : {
            fromMs: from === undefined ? Number.NEGATIVE_INFINITY : momentOf(from, day),
            untilMs: until === undefined ? Number.POSITIVE_INFINITY : momentOf(until, day),
          },
    failMessage: model.fails_message,
  }
}

/** All who are named; who has no table of their own is a member. Somebody has to approve: where nobody is an admin, `admin` is. */
function peopleOf({ users, bookings, do: steps, time_zone }: ScenarioFile): readonly Person[] {
  const named = [
    ...Object.keys(users),
    ...bookings.flatMap(({ user, members }) => [user, ...members]),
    ...steps.flatMap(({ request }) => (request === undefined ? [] : [request.user])),
  ]
  const hasAdmin = Object.values(users).some(({ role }) => role === 'admin')
  const names = [...new Set(hasAdmin ? named : [...named, 'admin'])]
  return names.map((name) => {
    const said = users[name]
    const role = said?.role ?? (name === 'admin' && !hasAdmin ? 'admin' : 'member')
    return { id: name, name, role, email: undefined, timeZone: said?.time_zone ?? time_zone, isDisabled: false }
  })
}

function bookingsOf({ bookings, time_zone }: ScenarioFile, day: Day): readonly ScenarioStep[] {
  return bookings.map((said, n) => {
    const { id = bookingName(n), user, booked_at, approve, start, end, ...rest } = said
    const wanted: z.input<typeof reservationRequestSchema> = {
      ...rest,
      start: isoTime(momentOf(start, day)),
      end: end === undefined ? undefined : isoTime(momentOf(end, day)),
      time_zone,
    }
    const atMs = booked_at === undefined ? day.startMs : momentOf(booked_at, day)
    return { kind: 'book', atMs, id, user, request: reservationRequestSchema.parse(wanted), isApproved: approve }
  })
}

function modelStepsOf(models: Scenario['models'], day: Day): readonly ScenarioStep[] {
  return [...models].flatMap(([model, { failsWithin }]): readonly ScenarioStep[] => {
    if (failsWithin === undefined) return []
    const { fromMs, untilMs } = failsWithin
    return [
      { kind: 'model' as const, model, isBroken: true, atMs: fromMs },
      { kind: 'model' as const, model, isBroken: false, atMs: untilMs },
    ].filter(({ atMs }) => day.startMs < atMs && atMs <= day.endMs)
  })
}

function stepsOf({ do: steps }: ScenarioFile, day: Day): readonly ScenarioStep[] {
  return steps.flatMap((step): readonly ScenarioStep[] => {
    const atMs = momentOf(step.at, day)
    const { extend, manual, request, clear, crash, clock_jump_s: jumpS } = step
    for (const kind of ['end', 'cancel', 'approve', 'reject'] as const) {
      const booking = step[kind]
      if (booking !== undefined) return [{ atMs, kind, booking }]
    }
    if (extend !== undefined) return [{ atMs, kind: 'extend', ...extend }]
    if (manual !== undefined) {
      const { lane, model = null, profile, until } = manual
      const untilMs = until === undefined ? undefined : momentOf(until, day)
      return [{ atMs, kind: 'manual', lane, model, profile, untilMs }]
    }
    if (clear !== undefined) return [{ atMs, kind: 'clear', lane: clear.lane }]
    if (crash !== undefined) return [{ atMs, kind: 'crash', lane: crash.lane }]
    if (request !== undefined) {
      return [{ atMs, kind: 'request', lane: request.lane, user: request.user, ms: request.seconds * SECOND_MS }]
    }
    return jumpS === undefined ? [] : [{ atMs, kind: 'jump', ms: jumpS * SECOND_MS }]
  })
}

/** It has been looked at already. */
function momentOf(text: string, day: Day): number {
  const ms = readMoment(text, day)
  if (ms === undefined) throw new Error(`a time of a scenario was not looked at: ${text}`)
  return ms
}

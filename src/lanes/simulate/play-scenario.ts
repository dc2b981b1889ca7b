import { Hal0Error } from '../../kernel/errors.ts'
import { assertNever } from '../../kernel/result.ts'
import { isoTime, SECOND_MS } from '../../kernel/units.ts'
import type { Scenario, ScenarioStep } from './read-scenario.ts'
import { SimulatedClock } from './simulated-clock.ts'
import { sendRequest } from './simulated-requests.ts'
import { openSimulatedWorld, type SimulatedWorld } from './simulated-world.ts'
import type { SimulationReport } from './simulation.ts'

type StepOf<Kind extends ScenarioStep['kind']> = Extract<ScenarioStep, { readonly kind: Kind }>

/** The message of an engine that the scenario lets die. */
const CRASH = 'its engine ended by itself'

/** Plays a day by the real rules, and says what happened. The same scenario is the same day every time. */
export async function playScenario(scenario: Scenario): Promise<SimulationReport> {
  const clock = new SimulatedClock(scenario.startMs)
  const world = openSimulatedWorld(scenario, clock)
  try {
    const isFirst = ({ kind, atMs }: ScenarioStep) => kind === 'book' && atMs <= scenario.startMs
    // What was booked before the day begins is known to the lanes at their first look.
    for (const step of scenario.steps.filter(isFirst)) await perform(step, world, clock, scenario.zone)
    world.lanes.look()
    for (const step of scenario.steps.filter((one) => !isFirst(one))) {
      await clock.runUntil(step.atMs)
      await perform(step, world, clock, scenario.zone)
    }
    await clock.runUntil(scenario.endMs)
    return {
      time_zone: scenario.zone,
      start: isoTime(scenario.startMs),
      end: isoTime(scenario.endMs),
      timeline: [...world.journal.entries],
      lanes: scenario.lanes.map(({ name }) => world.lane(name).tally.summary(clock.monotonicMs())),
    }
  } finally {
    world.close()
  }
}

/** What is refused is a line of the day, no end of it. */
async function perform(step: ScenarioStep, world: SimulatedWorld, clock: SimulatedClock, zone: string): Promise<void> {
  try {
    await act(step, world, clock, zone)
  } catch (thrown) {
    if (!(thrown instanceof Hal0Error)) throw thrown
    const { lane, what } = subjectOf(step, world)
    world.journal.add(lane, `${what}: ${thrown.code}: ${thrown.message}`, { kind: 'refused', code: thrown.code })
  }
}

async function act(step: ScenarioStep, world: SimulatedWorld, clock: SimulatedClock, zone: string): Promise<void> {
  const { bookings, journal, lanes, people } = world
  const { admin } = people
  switch (step.kind) {
    case 'book':
      return book(step, world)
    case 'end':
      return void (await bookings.end(step.booking, ownerOf(step.booking, world)))
    case 'cancel':
      return void (await bookings.cancel(step.booking, { series: false }, ownerOf(step.booking, world)))
    case 'extend':
      return void (await bookings.extend(step.booking, step.minutes, ownerOf(step.booking, world)))
    case 'approve':
      return void (await bookings.approve(step.booking, { series: true }, admin))
    case 'reject':
      return void (await bookings.reject(step.booking, { series: true, reason: '' }, admin))
    case 'manual': {
      const until = step.untilMs === undefined ? {} : { until: isoTime(step.untilMs) }
      const profile = step.profile === undefined ? {} : { profile: step.profile }
      return void (await lanes.setManual(step.lane, { model: step.model, ...profile, ...until }, admin))
    }
    case 'clear':
      return void (await lanes.clearManual(step.lane, admin))
    case 'crash':
      journal.add(step.lane, 'the engine ends by itself', { kind: 'step' })
      return world.lane(step.lane).slot.die(CRASH)
    case 'request':
      return sendRequest(step, world, clock, zone)
    case 'jump':
      journal.add('', `the clock jumps by ${step.ms / SECOND_MS} s`, { kind: 'step' })
      return clock.jump(step.ms)
    case 'model':
      journal.add('', `loads of ${step.model} ${step.isBroken ? 'fail from now on' : 'do not fail any more'}`, {
        kind: 'step',
      })
      world.models.setBroken(step.model, step.isBroken)
      return lanes.look()
    default:
      return assertNever(step)
  }
}

async function book({ id, user, request, isApproved }: StepOf<'book'>, world: SimulatedWorld): Promise<void> {
  const { bookings, journal, people } = world
  world.nameNext(id)
  const { reservations, warnings } = await bookings.create(request, people.caller(user))
  for (const { message } of warnings) {
    journal.add(request.lane, `${id}: ${message}`, { kind: 'warning', reservation: id })
  }
  const isPending = reservations.some(({ status }) => status === 'pending')
  if (isPending && isApproved) await bookings.approve(id, { series: true }, people.admin)
}

/** Who books may change it. Errors: `reservation.not_found`. */
function ownerOf(id: string, { bookings, people }: SimulatedWorld) {
  return people.caller(bookings.show(id, people.admin).owner.name)
}

/** What was wanted, and of which lane. */
function subjectOf(
  step: ScenarioStep,
  { bookings, people }: SimulatedWorld,
): { readonly lane: string; readonly what: string } {
  switch (step.kind) {
    case 'book':
      return { lane: step.request.lane, what: `${step.id} of ${step.user}` }
    case 'end':
    case 'cancel':
    case 'extend':
    case 'approve':
    case 'reject': {
      const what = `to ${step.kind} ${step.booking}`
      try {
        return { lane: bookings.show(step.booking, people.admin).lane, what }
      } catch {
        return { lane: '', what }
      }
    }
    case 'manual':
      return { lane: step.lane, what: 'a choice by hand' }
    case 'clear':
    case 'crash':
    case 'request':
      return { lane: step.lane, what: step.kind }
    case 'jump':
    case 'model':
      return { lane: '', what: step.kind }
    default:
      return assertNever(step)
  }
}

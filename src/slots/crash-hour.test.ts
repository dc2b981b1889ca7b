import { describe, expect, it, onTestFinished } from 'vitest'
import { type CrashWorld, type EngineStory, openCrashWorld } from '../../test/support/crash-world.ts'

const HOUR_S = 3_600
const GOOD = ['good', 'other'] as const

/**
 * One request per second. What an hour of a good slot costs is known from an hour in which the bad slot is left alone; the rows say what the bad
 * one may cost besides.
 */
async function anHour(story: EngineStory | undefined, idleTimeoutMs = 300_000): Promise<CrashWorld> {
  const world = await openCrashWorld({ bad: story ?? {}, good: {}, other: {} }, { idleTimeoutMs })
  onTestFinished(() => world.end())
  await world.hammer(story === undefined ? GOOD : ['bad', ...GOOD], HOUR_S)
  return world
}

const quietHours = new Map<number | undefined, number>()
async function timersOfQuietHour(idleTimeoutMs: number | undefined): Promise<number> {
  const known = quietHours.get(idleTimeoutMs)
  if (known !== undefined) return known
  const { costs } = await anHour(undefined, idleTimeoutMs)
  quietHours.set(idleTimeoutMs, costs.timersFired)
  return costs.timersFired
}

/** How often each outcome was got by requests to the slot. */
function tally(world: CrashWorld, slot: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { outcome } of world.answers.filter((answer) => answer.slot === slot))
    counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

interface Row {
  readonly name: string
  readonly story: EngineStory
  readonly idleTimeoutMs?: number
  /** Seconds at which a start is tried, by hand; the last is the first after the hour. */
  readonly startsS: readonly number[]
  /** What the hour's requests got, by hand. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Timers, probes and looks of the bad slot in this hour, at most. */
  readonly wakeUps: number
}

/*
 * A start at second s that is found to have failed at s + d is followed by one at the first whole second at or after s + d + C, where C = 5, 10, 20, 40, then
 * (parked) 300, 600, 1200, 2400.
 */
const ROWS: readonly Row[] = [
  {
    name: 'its program cannot be spawned (d = 0)',
    story: { cannotSpawn: true },
    startsS: [0, 5, 15, 35, 75, 375, 975, 2_175, 4_575],
    outcomes: { 'slot.spawn_failed': 8, 'slot.crash_looping': 3_592 },
    wakeUps: 0,
  },
  {
    name: 'exits before it listens (d = 0.2)',
    story: { probe: 'silent', diesAfterMs: 200 },
    startsS: [0, 6, 17, 38, 79, 380, 981, 2_182, 4_583],
    outcomes: { 'slot.spawn_failed': 8, 'slot.crash_looping': 3_592 },
    // Each 5 ms for 100 ms, then after each twentieth more.
    wakeUps: 8 * 2 * 36,
  },
  {
    name: 'exits while it loads (d = 30)',
    story: { probe: 'loading', diesAfterMs: 30_000 },
    startsS: [0, 35, 75, 125, 195, 525, 1_155, 2_385, 4_815],
    outcomes: { 'slot.spawn_failed': 8 * 30, 'slot.crash_looping': 3_360 },
    // A look and a timer each 100 ms for 30 s, denser in the first two.
    wakeUps: 8 * 2 * 370,
  },
  {
    name: 'exits right at ready (d = 0)',
    story: { diesAfterMs: 0 },
    startsS: [0, 5, 15, 35, 75, 375, 975, 2_175, 4_575],
    outcomes: { 'dispatch.upstream_unavailable': 8, 'slot.crash_looping': 3_592 },
    wakeUps: 8 * 2,
  },
  {
    name: 'exits when it is idle (d = 0.7)',
    story: { diesAfterMs: 700 },
    idleTimeoutMs: 300,
    startsS: [0, 6, 17, 38, 79, 380, 981, 2_182, 4_583],
    outcomes: { answered: 8, 'slot.crash_looping': 3_592 },
    wakeUps: 8 * 6,
  },
  {
    name: 'exits after each first answer (d = 0.01)',
    story: { diesWhenAnswered: true },
    startsS: [0, 6, 17, 38, 79, 380, 981, 2_182, 4_583],
    outcomes: { answered: 8, 'slot.crash_looping': 3_592 },
    wakeUps: 8 * 4,
  },
  {
    name: 'exits in the middle of an answer (d = 1.5)',
    story: { answerMs: 5_000, diesAfterMs: 1_500 },
    startsS: [0, 7, 19, 41, 83, 385, 987, 2_189, 4_591],
    outcomes: { 'dispatch.upstream_unavailable': 16, 'slot.crash_looping': 3_584 },
    wakeUps: 8 * 4,
  },
  {
    name: 'is found dead by the live watch: nobody listens (d = 2)',
    story: { liveLook: 'refused' },
    startsS: [0, 7, 19, 41, 83, 385, 987, 2_189, 4_591],
    outcomes: { answered: 16, 'slot.crash_looping': 3_584 },
    wakeUps: 8 * 10,
  },
  {
    name: 'is found dead by the live watch: it hangs (d = 10)',
    story: { liveLook: 'silent', answerMs: Number.POSITIVE_INFINITY },
    startsS: [0, 15, 35, 65, 115, 425, 1_035, 2_245, 4_655],
    outcomes: { 'dispatch.upstream_unavailable': 80, 'slot.crash_looping': 3_520 },
    wakeUps: 8 * 16,
  },
  {
    name: 'answers garbage (d = 0.3)',
    story: { sanity: { kind: 'failed', sample: '@@@', why: 'garbage' }, sanityMs: 300 },
    startsS: [0, 6, 17, 38, 79, 380, 981, 2_182, 4_583],
    outcomes: { 'slot.output_sanity_failed': 8, 'slot.crash_looping': 3_592 },
    wakeUps: 8 * 2,
  },
  {
    name: 'lists no model: it stays for a person to see',
    story: { probe: 'no_model' },
    startsS: [0, HOUR_S],
    outcomes: { 'slot.not_ready': HOUR_S },
    // A probe and a timer each 100 ms for a minute (denser at first), then each 500 ms; a live look and a timer each 2 s.
    wakeUps: 2 * (675 + 7_080) + 2 * 1_800 + 10,
  },
  {
    // 900 s each; T = 1800 s, and again from 1805 s on.
    name: 'is never ready, twice',
    story: { probe: 'loading' },
    startsS: [0, 900, 1_805, 2_705, HOUR_S],
    // Who came in the last 60 s of the second try (1740 to 1799) hears how it ended, all others that it still loads; 1800 to 1804 are refused.
    outcomes: { 'slot.loading': 1_740 + 1_736, 'slot.health_failed': 60, 'slot.crash_looping': 5 },
    wakeUps: 2 * (4 * 680 + 3_300 * 2) + 3_600 + 10,
  },
  {
    name: 'exits after 90 s of ready: it had recovered each time, and waits for 5 s',
    story: { diesAfterMs: 90_000 },
    startsS: [...Array.from({ length: 38 }, (_, nth) => nth * 95), 3_610],
    outcomes: { answered: 3_600 - 37 * 5, 'slot.crash_looping': 37 * 5 },
    wakeUps: 3_600 * 2,
  },
]

describe('an hour with one request per second, beside two good slots, when a slot', () => {
  it.each(ROWS)('$name', async ({ story, idleTimeoutMs, startsS, outcomes, wakeUps }) => {
    const world = await anHour(story, idleTimeoutMs)
    const quietTimers = await timersOfQuietHour(idleTimeoutMs)
    const { costs } = world
    const inHourS = startsS.filter((atS) => atS < HOUR_S)
    expect(world.startsS('bad')).toEqual(inHourS)
    expect(tally(world, 'bad')).toEqual(outcomes)
    // Nobody is told to come back too early or too late.
    for (const { atS, outcome, retryAfterS } of world.answers.filter(({ slot }) => slot === 'bad')) {
      if (outcome !== 'slot.crash_looping') continue
      expect([atS, atS + (retryAfterS ?? 0)]).toEqual([atS, startsS.find((startS) => startS > atS)])
    }
    for (const slot of GOOD) {
      expect(tally(world, slot)).toEqual({ answered: HOUR_S })
      expect(world.startsS(slot)).toEqual([0])
    }
    const own = costs.timersFired - quietTimers + (costs.probes.get('bad') ?? 0) + (costs.liveLooks.get('bad') ?? 0)
    expect(own).toBeLessThanOrEqual(wakeUps)
    expect(costs.sanityAsks.get('bad') ?? 0).toBeLessThanOrEqual(inHourS.length)
    expect(costs.lines.get('bad')).toBeLessThanOrEqual(inHourS.length * 6)
    expect(costs.events.get('bad')).toBeLessThanOrEqual(inHourS.length * 9 + (outcomes['answered'] ?? 0) * 2)
    expect(costs.faults).toEqual([])
    await world.end()
    expect([world.running().length, costs.timersPending]).toEqual([0, 0])
  })
})

describe('a daemon that is started again', () => {
  /** Its slot cannot be spawned: the timeline is 0, 5, 15, 35, 75, then parked: 375, 975. */
  const startsS = [0, 5, 15, 35, 75, 375, 975]

  it.each([
    ['in backoff', [2]],
    ['at the moment a wait is over', [15]],
    ['parked', [80]],
    ['again and again while parked', [80, 81, 200, 374]],
    ['half open, before its first request', [375]],
    ['after the trial failed', [376]],
    ['in every stretch', [1, 6, 16, 36, 76, 376]],
  ])('%s changes nothing: the same starts, the same slot that waits', async (_when, restartsS) => {
    const world = await openCrashWorld({ bad: { cannotSpawn: true }, good: {} }, { autoload: true })
    onTestFinished(() => world.end())
    let nowS = 0
    for (const restartS of [...restartsS, 980]) {
      await world.hammer(['bad', 'good'], restartS - nowS)
      nowS = restartS
      if (restartS === 980) break
      const before = world.slots().row('bad')?.breaker
      await world.close()
      await world.open()
      expect([restartS, world.slots().row('bad')?.breaker]).toEqual([restartS, before])
    }
    expect(world.startsS('bad')).toEqual(startsS)
    expect(tally(world, 'bad')).toEqual({ 'slot.spawn_failed': 7, 'slot.crash_looping': 973 })
    expect(tally(world, 'good')).toEqual({ answered: 980 })
  })

  it('counts the time in which there was no daemon: the trial is due', async () => {
    const world = await openCrashWorld({ bad: { cannotSpawn: true } })
    onTestFinished(() => world.end())
    await world.hammer(['bad'], 76)
    await world.close()
    await world.clock.advance(299_000 - 1)
    await world.open()
    world.ask('bad')
    await world.clock.advance(1)
    expect(world.startsS('bad')).toEqual([0, 5, 15, 35, 75])
    expect(world.slots().row('bad')?.breaker).toEqual({ state: 'half_open', failures: 5, retry_after_s: 0 })
    for (let nth = 0; nth < 50; nth++) world.ask('bad')
    await world.clock.advance(0)
    expect(world.startsS('bad')).toEqual([0, 5, 15, 35, 75, 375])
    expect(world.slots().row('bad')?.breaker).toEqual({ state: 'parked', failures: 6, retry_after_s: 600 })
  })

  it('does not try by itself while it is parked', async () => {
    const world = await openCrashWorld({ bad: { cannotSpawn: true } }, { autoload: true })
    onTestFinished(() => world.end())
    await world.hammer(['bad'], 76)
    await world.close()
    await world.open()
    await world.slots().autoload()
    await world.hammer(['bad'], 10)
    expect(world.startsS('bad')).toEqual([0, 5, 15, 35, 75])
  })

  // Parked at 195 s (see above); its trial begins at 525 s, and would fail at 555 s.
  it('in the middle of the trial: it was none, and the next request begins the one', async () => {
    const world = await openCrashWorld({ bad: { probe: 'loading', diesAfterMs: 30_000 } })
    onTestFinished(() => world.end())
    await world.hammer(['bad'], 540)
    expect(world.slots().row('bad')?.breaker).toEqual({ state: 'half_open', failures: 5, retry_after_s: 0 })
    await world.close()
    await world.open()
    expect(world.slots().row('bad')?.breaker).toEqual({ state: 'half_open', failures: 5, retry_after_s: 0 })
    await world.hammer(['bad'], 700)
    // 540 + 30 + 600.
    expect(world.startsS('bad')).toEqual([0, 35, 75, 125, 195, 525, 540, 1_170])
  })

  it('has forgotten nothing of a slot that crashes after each first answer', async () => {
    const world = await openCrashWorld({ bad: { diesWhenAnswered: true } })
    onTestFinished(() => world.end())
    for (let nth = 0; nth < 100; nth++) {
      await world.hammer(['bad'], 1)
      await world.close()
      await world.open()
    }
    expect(world.startsS('bad')).toEqual([0, 6, 17, 38, 79])
    expect(world.slots().row('bad')?.breaker).toMatchObject({ state: 'parked', failures: 5 })
  })
})

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { slotFileSchema } from '../../src/config/slots/rules/slot-schema.ts'
import { slotFilePath, slotsFolder } from '../../src/config/slots/slot-file.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import { homeAt } from '../../src/files/home.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { Hal0Error, messageOf } from '../../src/kernel/errors.ts'
import type { Log } from '../../src/kernel/log.ts'
import { isoTime } from '../../src/kernel/units.ts'
import type { SlotEffects } from '../../src/slots/effects.ts'
import { bindingOf } from '../../src/slots/launch/read-binding.ts'
import type { ProbeVerdict } from '../../src/slots/life/probe.ts'
import type { SanityVerdict } from '../../src/slots/life/sanity.ts'
import { createPortPool } from '../../src/slots/port-pool.ts'
import type { Look } from '../../src/slots/rules/next-watch.ts'
import { openSlots, type SlotManager } from '../../src/slots/slot-manager.ts'
import { OPEN_DESK } from './actor-harness.ts'
import { FAKE_LAUNCH, FAKE_RUNNER, UNDECIDED_THINKING } from './fake-runner.ts'
import { type FakeEngine, FakeRuntime, spawnFailed } from './fake-runtime.ts'
import { ManualClock } from './manual-clock.ts'
import { DEFAULT_SLOT_SETTINGS } from './slot-settings.ts'

/** How every engine of one slot lives. Absent = as a good one does. */
export interface EngineStory {
  /** Its program cannot be started. */
  readonly cannotSpawn?: boolean
  /** What a look at it sees on its way up. */
  readonly probe?: ProbeVerdict['kind']
  /** What it answers to the known question, and how long it takes for that. */
  readonly sanity?: SanityVerdict
  readonly sanityMs?: number
  /** What the live watch sees. */
  readonly liveLook?: Look
  /** It dies by itself so long after its start. */
  readonly diesAfterMs?: number
  /** It dies when it has answered a request. */
  readonly diesWhenAnswered?: boolean
  /** How long it works on a request; undefined = 10 ms, Infinity = it never answers. */
  readonly answerMs?: number
}

/** What one request got, and when it was asked. `atS`: seconds since the world began. */
export interface Answered {
  readonly slot: string
  readonly atS: number
  /** `answered`, or the code of the error. */
  readonly outcome: string
  readonly retryAfterS: number | undefined
}

/** Things that cost something, by slot; timers cannot be told apart. */
export interface Costs {
  timersFired: number
  /** Set, neither fired nor cancelled. */
  timersPending: number
  /** Looks at an engine on its way up. */
  readonly probes: Map<string, number>
  readonly liveLooks: Map<string, number>
  readonly sanityAsks: Map<string, number>
  /** Lines of level info and above. */
  readonly lines: Map<string, number>
  readonly events: Map<string, number>
  readonly faults: unknown[]
}

export interface CrashWorld {
  readonly clock: ManualClock
  readonly costs: Costs
  readonly answers: Answered[]
  /** Seconds since the world began at which each start of the slot was tried. */
  startsS(slot: string): readonly number[]
  readonly running: () => readonly FakeEngine[]
  readonly slots: () => SlotManager
  /** A request to each of the slots at each second from now on, for so many seconds. */
  hammer(slots: readonly string[], seconds: number): Promise<void>
  /** One request; it ends when it ends. */
  ask(slot: string): void
  /** The daemon ends (its engines too) and is there no more. */
  close(): Promise<void>
  /** Another daemon on the same home. */
  open(): Promise<void>
  /** Everything is closed and removed. */
  end(): Promise<void>
}

const FIRST_PORT = 9_000

/** A request waits so long for a load, as at the gateway by default. */
const WAIT_MS = 60_000

/** Several slots of one manager on a manual clock; what becomes of each slot's engines is told beforehand. */
export async function openCrashWorld(
  stories: Readonly<Record<string, EngineStory>>,
  { idleTimeoutMs = 300_000, autoload = false }: { readonly idleTimeoutMs?: number; readonly autoload?: boolean } = {},
): Promise<CrashWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-crash-'))
  const home = homeAt(folder)
  await mkdir(slotsFolder(home), { recursive: true })
  const names = Object.keys(stories)
  for (const name of names)
    await writeFile(slotFilePath(home, name), `name = "${name}"\nautoload = ${autoload}\nmodel = { default = "m" }\n`)
  const clock = new ManualClock()
  const startMs = clock.nowMs()
  const sinceS = () => (clock.nowMs() - startMs) / 1_000
  const answers: Answered[] = []
  const starts: { readonly slot: string; readonly atS: number }[] = []
  const costs: Costs = {
    timersFired: 0,
    timersPending: 0,
    probes: new Map(),
    liveLooks: new Map(),
    sanityAsks: new Map(),
    lines: new Map(),
    events: new Map(),
    faults: [],
  }
  const count = (of: Map<string, number>, slot: string) => void of.set(slot, (of.get(slot) ?? 0) + 1)
  /** The manager's; what the test itself sets off is not counted. */
  const countingClock: Clock = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer: (delayMs, fire) => {
      let isOver = false
      const over = () => {
        if (!isOver) costs.timersPending--
        isOver = true
      }
      costs.timersPending++
      const cancel = clock.setTimer(delayMs, () => {
        costs.timersFired++
        over()
        fire()
      })
      return () => {
        cancel()
        over()
      }
    },
  }
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(ms, resolve))
  const storyOf = (slot: string): EngineStory => stories[slot] ?? {}
  const slotAt = (origin: string): string => names[Number(new URL(origin).port) - FIRST_PORT] ?? ''
  const line = (facts: object) => count(costs.lines, 'slot' in facts ? String(facts.slot) : '')
  const log: Log = {
    debug: () => {},
    info: line,
    warn: line,
    error: (facts, message) => {
      line(facts)
      if (message === 'a fault in the slot actor') costs.faults.push(facts)
    },
    child: () => log,
  }
  let runtime: FakeRuntime | undefined
  let manager: SlotManager | undefined

  const effects: SlotEffects = {
    readBinding: async (slot) => boundOf(slot),
    examine: async (slot) => ({
      bound: boundOf(slot),
      problem: undefined,
      fingerprint: 'the same build',
      thinking: UNDECIDED_THINKING,
      restartNeeded: [],
      drift: [],
    }),
    prepare: async (bound) => {
      const { name } = bound.config
      const port = FIRST_PORT + names.indexOf(name)
      const plan: LaunchPlan = { slot: name, command: ['/fake'], flags: [], env: {}, port, keyEnv: 'FAKE_KEY' }
      const launch = { plan, ...FAKE_LAUNCH }
      return { bound, runner: FAKE_RUNNER, launch, plan, fingerprint: 'the same build', releasePort: () => {} }
    },
    drawKey: async () => 'k',
    openProber: (origin) => ({
      look: async () => {
        const slot = slotAt(origin)
        count(costs.probes, slot)
        const kind = storyOf(slot).probe ?? 'ready'
        if (kind === 'ready') return { kind, parallel: null }
        return kind === 'stranger' ? { kind, reason: 'it is another one' } : { kind }
      },
      close: async () => {},
    }),
    logPath: () => '/log',
    missing: { find: async () => undefined },
    estimate: async () => ({ kind: 'unknown', reason: 'made up' }),
    recordLaunch: async () => {},
    askSanity: async ({ origin }) => {
      const slot = slotAt(origin)
      count(costs.sanityAsks, slot)
      const { sanity = { kind: 'passed' }, sanityMs = 0 } = storyOf(slot)
      if (sanityMs > 0) await wait(sanityMs)
      return sanity
    },
    openLiveLook: (origin) => ({
      look: async () => {
        const slot = slotAt(origin)
        count(costs.liveLooks, slot)
        return storyOf(slot).liveLook ?? 'alive'
      },
      close: async () => {},
    }),
    explain: async (_engine, facts, during) => ({
      code: during === 'up' ? 'dispatch.upstream_unavailable' : 'slot.spawn_failed',
      message: 'the engine died',
      cause: null,
      line: 'decisive',
      remedy: 'do this',
      at: isoTime(facts.atMs),
    }),
  }

  async function open(): Promise<void> {
    const next = runtime === undefined ? new FakeRuntime(clock) : runtime.restarted()
    runtime = next
    next.beforeStart = (plan) => {
      const { cannotSpawn, diesAfterMs } = storyOf(plan.slot)
      starts.push({ slot: plan.slot, atS: sinceS() })
      if (cannotSpawn === true) throw spawnFailed(plan, 'no such program')
      if (diesAfterMs !== undefined) clock.setTimer(diesAfterMs, () => die(next, plan))
    }
    manager = await openSlots({
      ...{ home, clock: countingClock, runtime: next, log, effects },
      ports: createPortPool([FIRST_PORT, FIRST_PORT]),
      adoptions: new Map(),
      openDesk: () => OPEN_DESK,
      onLoadEnded: () => {},
      startRefusal: () => undefined,
      managedBy: () => null,
      bus: { publish: ({ source }: NewEvent) => count(costs.events, source.replace('slot:', '')) },
      settings: { ...DEFAULT_SLOT_SETTINGS, idleTimeoutMs },
    })
  }

  function die(by: FakeRuntime, plan: LaunchPlan): void {
    by.starts.find((start) => start.plan === plan)?.engine.exit({ code: 1 })
  }

  function ask(slot: string): void {
    const atS = sinceS()
    const { answerMs = 10, diesWhenAnswered } = storyOf(slot)
    const told = (outcome: string, retryAfterS?: number) => void answers.push({ slot, atS, outcome, retryAfterS })
    const refused = (reason: unknown) =>
      reason instanceof Hal0Error
        ? told(reason.code, reason.retryAfterS)
        : told(`not an error of ours: ${messageOf(reason)}`)
    void slots()
      .acquire(slot, { signal: new AbortController().signal, waitMs: WAIT_MS })
      .then((lease) => {
        const { running } = runtime ?? { running: [] }
        const engine = running.find((one) => one.ref.pid === slots().row(slot)?.pid)
        const cancel =
          answerMs === Number.POSITIVE_INFINITY
            ? () => {}
            : clock.setTimer(answerMs, () => {
                lease.moved()
                lease.release('answered')
                told('answered')
                if (diesWhenAnswered === true) engine?.exit({ code: 1 })
              })
        lease.revoked.addEventListener('abort', () => {
          cancel()
          refused(lease.revoked.reason)
        })
      }, refused)
  }

  function slots(): SlotManager {
    if (manager === undefined) throw new Error('the daemon does not run')
    return manager
  }

  async function close(): Promise<void> {
    const closed = slots().close({ drainMs: 0, keepEngines: false })
    await clock.advance(0)
    await closed
    manager = undefined
  }

  await open()
  return {
    clock,
    costs,
    answers,
    startsS: (slot) => starts.filter((start) => start.slot === slot).map(({ atS }) => atS),
    running: () => runtime?.running ?? [],
    slots,
    ask,
    hammer: async (targets, seconds) => {
      for (let second = 0; second < seconds; second++) {
        for (const slot of targets) ask(slot)
        await clock.advance(1_000)
      }
    },
    close,
    open,
    end: async () => {
      if (manager !== undefined) await close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function boundOf(slot: string) {
  return bindingOf(slotFileSchema.parse({ name: slot, model: { default: 'm' } }))
}

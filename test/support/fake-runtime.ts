import { argvOf, type LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { ProcessRef } from '../../src/contract/slot-state.ts'
import type { CancelTimer, Clock } from '../../src/kernel/clock.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import type {
  EngineProcess,
  ExitFacts,
  Runtime,
  StartOptions,
  StopOutcome,
  Survivor,
} from '../../src/runtimes/runtime.ts'

/** Knobs of one fake engine; they may be turned while it runs. */
export interface FakeEngineKnobs {
  /** SIGTERM does nothing; SIGKILL at the deadline does. */
  ignoresTerm: boolean
  /** How long it takes to obey SIGTERM; 0 = at once. Longer than the grace = killed at the deadline. */
  termDelayMs: number
  /** What it exits with when it obeys; undefined = it dies of the signal. */
  termExitCode: number | undefined
  /** A process it leaves behind when the main one exits; lives until it is stopped. */
  leavesGrandchild: boolean
}

type ExitOf = { readonly code: number } | { readonly signal: string } | 'unknown'

const START_TICKS = 1_000

/** An engine in memory. `exit` is the test's way to let it die by itself. */
export class FakeEngine implements EngineProcess {
  readonly ref: ProcessRef
  readonly exited: Promise<ExitFacts>
  readonly knobs: FakeEngineKnobs
  /** The grace of each call of `stop`, in order. */
  readonly stops: number[] = []
  /** What the process seems to have been started with; a test may say something else than the plan. */
  argv: readonly string[] = []
  readonly #clock: Clock
  #tellExit: (facts: ExitFacts) => void = () => {}
  #mainAlive = true
  #grandchildAlive = false
  #stop: { promise: Promise<StopOutcome>; end: (outcome: StopOutcome) => void; killAtMs: number } | undefined
  #cancelTerm: CancelTimer = () => {}
  #cancelKill: CancelTimer = () => {}

  constructor(pid: number, clock: Clock, knobs: FakeEngineKnobs) {
    this.ref = { pid, start_ticks: START_TICKS + pid, boot_id: 'fake-boot' }
    this.knobs = knobs
    this.#clock = clock
    this.exited = new Promise((resolve) => {
      this.#tellExit = resolve
    })
  }

  /** Whether anything of it is alive, grandchildren included. */
  get isAlive(): boolean {
    return this.#mainAlive || this.#grandchildAlive
  }

  /** The main process ends by itself (or by somebody else's signal). */
  exit(how: ExitOf): void {
    if (!this.#mainAlive) return
    this.#mainAlive = false
    this.#grandchildAlive = this.knobs.leavesGrandchild
    const atMs = this.#clock.nowMs()
    if (how === 'unknown') this.#tellExit({ kind: 'unknown', atMs })
    else if ('code' in how) this.#tellExit({ kind: 'code', code: how.code, atMs })
    else this.#tellExit({ kind: 'signal', signal: how.signal, atMs })
    // A running stop goes on until the grandchild is dead, too.
    if (!this.#grandchildAlive) this.#endStop('terminated')
  }

  stop({ graceMs }: { readonly graceMs: number }): Promise<StopOutcome> {
    this.stops.push(graceMs)
    const killAtMs = this.#clock.monotonicMs() + graceMs
    if (this.#stop === undefined) {
      if (!this.isAlive) return Promise.resolve('gone')
      let end: (outcome: StopOutcome) => void = () => {}
      const promise = new Promise<StopOutcome>((resolve) => {
        end = resolve
      })
      this.#stop = { promise, end, killAtMs }
      this.#armKill(graceMs)
      if (graceMs > 0 && !this.knobs.ignoresTerm) {
        const { termDelayMs } = this.knobs
        if (termDelayMs > 0) this.#cancelTerm = this.#clock.setTimer(termDelayMs, () => this.#obeyTerm())
        else queueMicrotask(() => this.#obeyTerm())
      }
    } else if (killAtMs < this.#stop.killAtMs) {
      this.#stop.killAtMs = killAtMs
      this.#armKill(graceMs)
    }
    return this.#stop.promise
  }

  async readArgv(): Promise<readonly string[] | undefined> {
    return this.#mainAlive ? this.argv : undefined
  }

  #armKill(graceMs: number): void {
    this.#cancelKill()
    if (graceMs > 0) this.#cancelKill = this.#clock.setTimer(graceMs, () => this.#kill())
    else queueMicrotask(() => this.#kill())
  }

  #obeyTerm(): void {
    if (this.#stop === undefined) return
    const { termExitCode } = this.knobs
    this.knobs.leavesGrandchild = false
    this.#grandchildAlive = false
    if (this.#mainAlive) this.exit(termExitCode === undefined ? { signal: 'SIGTERM' } : { code: termExitCode })
    else this.#endStop('terminated')
  }

  #kill(): void {
    if (this.#stop === undefined) return
    // Known before the exit is told, so that the stop ends as killed.
    this.#grandchildAlive = false
    const { end } = this.#stop
    this.#clear()
    this.knobs.leavesGrandchild = false
    this.exit({ signal: 'SIGKILL' })
    end('killed')
  }

  #endStop(outcome: StopOutcome): void {
    const end = this.#stop?.end
    this.#clear()
    end?.(outcome)
  }

  #clear(): void {
    this.#stop = undefined
    this.#cancelTerm()
    this.#cancelKill()
  }
}

export interface FakeStart {
  readonly plan: LaunchPlan
  readonly options: StartOptions
  readonly engine: FakeEngine
}

/**
 * A runtime in memory, on the test's clock. Every engine starts with `defaults`; `beforeStart` may turn its knobs by plan, or
 * throw what the start is to fail with.
 */
export class FakeRuntime implements Runtime {
  readonly kind = 'process'
  /** Every start that worked, in order. */
  readonly starts: FakeStart[] = []
  /** Plans whose start failed, in order. */
  readonly failedStarts: LaunchPlan[] = []
  readonly defaults: FakeEngineKnobs = {
    ignoresTerm: false,
    termDelayMs: 0,
    termExitCode: undefined,
    leavesGrandchild: false,
  }
  /** While set, no start works; this is the reason. */
  spawnFailure: string | undefined
  beforeStart: (plan: LaunchPlan, knobs: FakeEngineKnobs) => void = () => {}
  readonly #clock: Clock
  readonly #left: { readonly slot: string; readonly attemptId: string; readonly process: FakeEngine }[] = []
  #nextPid = 1_001

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async start(plan: LaunchPlan, options: StartOptions): Promise<FakeEngine> {
    const knobs = { ...this.defaults }
    try {
      if (this.spawnFailure !== undefined) throw spawnFailed(plan, this.spawnFailure)
      this.beforeStart(plan, knobs)
    } catch (thrown) {
      this.failedStarts.push(plan)
      throw thrown
    }
    const engine = new FakeEngine(this.#nextPid++, this.#clock, knobs)
    engine.argv = argvOf(plan)
    this.starts.push({ plan, options, engine })
    return engine
  }

  async findSurvivors(): Promise<readonly Survivor[]> {
    return this.#left.filter((survivor) => survivor.process.isAlive)
  }

  /** As if an earlier daemon had left an engine running. */
  leaveSurvivor(slot: string, attemptId: string, knobs: Partial<FakeEngineKnobs> = {}): FakeEngine {
    const engine = new FakeEngine(this.#nextPid++, this.#clock, { ...this.defaults, ...knobs })
    this.#left.push({ slot, attemptId, process: engine })
    return engine
  }

  /** Another daemon's runtime on the same home: finds what is alive here. */
  restarted(): FakeRuntime {
    const next = new FakeRuntime(this.#clock)
    next.#nextPid = this.#nextPid
    next.#left.push(...this.#left)
    for (const { plan, options, engine } of this.starts) {
      next.#left.push({ slot: plan.slot, attemptId: options.attemptId, process: engine })
    }
    return next
  }

  /** The engines that are alive, in order of their start. */
  get running(): readonly FakeEngine[] {
    return this.starts.map((start) => start.engine).filter((engine) => engine.isAlive)
  }
}

/** What a real runtime throws when a program cannot be started. */
export function spawnFailed(plan: LaunchPlan, reason: string): Hal0Error {
  return Hal0Error.of('slot.spawn_failed', `slot ${plan.slot}: cannot start ${plan.command[0]}: ${reason}`, {
    details: { program: plan.command[0], reason },
  })
}

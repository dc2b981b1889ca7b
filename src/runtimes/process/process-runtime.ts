import { readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import type { LaunchPlan, StopSignal } from '../../contract/launch-plan.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { EngineProcess, RecordedProcess, Runtime, StartOptions, Survivor } from '../runtime.ts'
import { watchAdopted } from './engine-exit.ts'
import { DEFAULT_LOG_LIMITS, type LogLimits } from './log-file.ts'
import { LogRotator } from './log-rotator.ts'
import { lookAtProcesses, readBootId } from './proc.ts'
import { ProcessEngine } from './process-engine.ts'
import { COOKIE_ENV, formatCookie, isHomeId } from './rules/engine-cookie.ts'
import { engineEnvironment } from './rules/engine-env.ts'
import { chooseRecorded, chooseSurvivors, type SurvivorFacts } from './rules/survivors.ts'
import { spawnEngine } from './spawn-engine.ts'

export interface ProcessRuntimeOptions {
  /** Tells this home's engines from those of other homes on the machine, for as long as the home exists; without `:`. */
  readonly homeId: string
  readonly clock: Clock
  readonly log: Log
  /** What engines inherit a selection of; the daemon's own by default. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly logLimits?: LogLimits
}

/** Runs slots as detached processes of this machine. Source: SPEC 10 "process". */
export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  return new ProcessRuntime(options)
}

class ProcessRuntime implements Runtime {
  readonly kind = 'process'
  readonly #homeId: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #rotator: LogRotator
  readonly #bootId = readBootId()
  /** Cookies of what this object started. */
  readonly #own = new Set<string>()
  /** Survivors by cookie: asked again, the answer is the same object. */
  readonly #adopted = new Map<string, EngineProcess>()

  constructor(options: ProcessRuntimeOptions) {
    if (!isHomeId(options.homeId)) throw new Error(`homeId must not be empty or hold ":": ${options.homeId}`)
    this.#homeId = options.homeId
    this.#clock = options.clock
    this.#log = options.log
    this.#env = options.env ?? process.env
    this.#rotator = new LogRotator({
      clock: options.clock,
      log: options.log,
      limits: options.logLimits ?? DEFAULT_LOG_LIMITS,
    })
  }

  async start(plan: LaunchPlan, { attemptId, secretEnv, logPath }: StartOptions): Promise<EngineProcess> {
    const cookie = formatCookie({ homeId: this.#homeId, slot: plan.slot, attemptId })
    const env = engineEnvironment(this.#env, plan.env, secretEnv, { [COOKIE_ENV]: cookie })
    // Not only once a minute: a slot that crashes at once would fill its log between two checks.
    await this.#rotator.check(logPath)
    this.#own.add(cookie)
    const { pid, startTicks, watch } = await spawnEngine({ plan, attemptId, env, logPath }, this.#clock)
    const log = this.#log.child({ slot: plan.slot, attemptId, pid })
    log.info({ program: plan.command[0], port: plan.port }, 'engine started')
    const engine = new ProcessEngine({ pid, startTicks, cookie, groupId: pid, stopSignal: plan.stopSignal }, watch, {
      clock: this.#clock,
      log,
      bootId: this.#bootId,
      homeId: this.#homeId,
    })
    this.#rotator.watchUntil(logPath, engine.exited)
    return engine
  }

  async findSurvivors(
    recorded: readonly RecordedProcess[],
    stopSignalOf: (attemptId: string) => StopSignal | undefined = () => undefined,
  ): Promise<readonly Survivor[]> {
    const table = await lookAtProcesses(() => true)
    const byCookie = chooseSurvivors(table, {
      homeId: this.#homeId,
      selfPid: process.pid,
      isOwn: (cookie) => this.#own.has(cookie),
    })
    const ours = recorded.filter(({ ref }) => ref.boot_id === this.#bootId && ref.home_id === this.#homeId)
    const engines = ours.map(({ ref, ...rest }) => ({ ...rest, pid: ref.pid, startTicks: ref.start_ticks }))
    const byRecord = chooseRecorded(table, engines, {
      homeId: this.#homeId,
      selfPid: process.pid,
      found: byCookie,
    })
    return [...byCookie, ...byRecord].map((survivor) => {
      const { slot, attemptId } = survivor.cookie
      const known = this.#adopted.get(survivor.cookieText)
      return { slot, attemptId, process: known ?? this.#adopt(survivor, stopSignalOf(attemptId)) }
    })
  }

  #adopt({ cookie, cookieText, main, groupId }: SurvivorFacts, stopSignal: StopSignal | undefined): EngineProcess {
    const { pid, startTicks } = main
    const log = this.#log.child({ slot: cookie.slot, attemptId: cookie.attemptId, pid })
    const watch = watchAdopted({ pid, startTicks }, this.#clock)
    const engine = new ProcessEngine({ pid, startTicks, cookie: cookieText, groupId, stopSignal }, watch, {
      clock: this.#clock,
      log,
      bootId: this.#bootId,
      homeId: this.#homeId,
    })
    this.#adopted.set(cookieText, engine)
    void engine.exited.then(() => this.#adopted.delete(cookieText))
    void this.#watchLogOf(pid, cookie.slot, engine.exited)
    return engine
  }

  /** An adopted engine's log is where its stdout goes; only a file of the slot's own name is ever cut. */
  async #watchLogOf(pid: number, slot: string, exited: Promise<unknown>): Promise<void> {
    const path = await readlink(`/proc/${pid}/fd/1`).catch(() => '')
    if (basename(path) === `${slot}.log`) this.#rotator.watchUntil(path, exited)
  }
}

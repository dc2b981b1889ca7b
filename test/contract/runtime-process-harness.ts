import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import { type Clock, sleep, systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import type { LogLimits } from '../../src/runtimes/process/log-file.ts'
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts'
import type { EngineProcess, Runtime } from '../../src/runtimes/runtime.ts'

/** A test waits for a fact so long at most; it goes on the moment the fact holds. */
const PATIENCE_MS = 15_000

/** Asks again and again until `probe` answers something else than undefined or false. */
export async function until<T>(what: string, probe: () => T | undefined | false): Promise<T> {
  const giveUpAtMs = systemClock.monotonicMs() + PATIENCE_MS
  for (;;) {
    const answer = probe()
    if (answer !== undefined && answer !== false) return answer
    if (systemClock.monotonicMs() > giveUpAtMs) throw new Error(`waited in vain: ${what}`)
    await sleep(systemClock, 5)
  }
}

/** Pids whose environment holds HAL0_ENGINE with exactly this home and attempt; zombies have no environment. */
export function pidsOf(homeId: string, attemptId?: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const entries = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
        return entries.some(
          (entry) =>
            entry.startsWith(`HAL0_ENGINE=${homeId}:`) && (attemptId === undefined || entry.endsWith(`:${attemptId}`)),
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

/** `undefined` when there is no such process, or only a zombie. */
export function statLineOf(pid: number): string | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return line.includes(') Z ') ? undefined : line
  } catch {
    return undefined
  }
}

/** A folder, a home id of its own, and real engines made of shell text. `close` ends by pid whatever is left. */
export class ProcessBench {
  readonly homeId = `test-${randomUUID()}`
  readonly folder = mkdtempSync(join(tmpdir(), 'hal0-runtime-'))
  readonly runtime: Runtime
  #logs = 0

  constructor(
    options: { readonly clock?: Clock; readonly logLimits?: LogLimits; readonly env?: NodeJS.ProcessEnv } = {},
  ) {
    this.runtime = this.newRuntime(options)
  }

  newRuntime(
    options: { readonly clock?: Clock; readonly logLimits?: LogLimits; readonly env?: NodeJS.ProcessEnv } = {},
  ): Runtime {
    return createProcessRuntime({ homeId: this.homeId, clock: systemClock, log: silentLog, ...options })
  }

  newLogPath(): string {
    this.#logs += 1
    return join(this.folder, 'log', `${this.#logs}`, 'agent.log')
  }

  /** Starts `sh -c script`; resolves when the script has printed the line `up`. `log` reads what it has printed. */
  async start(
    script: string,
    options: {
      readonly slot?: string
      readonly attemptId?: string
      readonly secretEnv?: Record<string, string>
      readonly plan?: Partial<LaunchPlan>
    } = {},
  ): Promise<{ readonly engine: EngineProcess; readonly log: () => string; readonly logPath: string }> {
    const logPath = this.newLogPath()
    const { slot = 'agent', attemptId = 'a1', secretEnv = {} } = options
    const engine = await this.runtime.start(
      { ...shellPlan(script, slot), ...options.plan },
      { attemptId, secretEnv, logPath },
    )
    const log = () => readFileSync(logPath, 'utf8')
    await until('the engine is up', () => log().split('\n').includes('up'))
    return { engine, log, logPath }
  }

  async close(): Promise<void> {
    // More than one look: a process that is just becoming another program shows no environment.
    let emptyLooks = 0
    await until('everything of the test is dead', () => {
      const pids = pidsOf(this.homeId)
      for (const pid of pids) killQuietly(pid)
      emptyLooks = pids.length === 0 ? emptyLooks + 1 : 0
      return emptyLooks === 4
    })
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function shellPlan(script: string, slot = 'agent'): LaunchPlan {
  return { slot, command: ['sh', '-c'], flags: [{ flag: script, values: [], layer: 'base' }], env: {}, port: 9 }
}

export function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

import type { ProcessRef } from '../../contract/slot-state.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { EngineProcess, ExitFacts, StopOutcome } from '../runtime.ts'
import { type ExitWatch, seemsAlive } from './engine-exit.ts'
import { EngineFamily, type EngineIdentity } from './engine-family.ts'
import { readArgv } from './proc.ts'
import { StopDeadline } from './stop-deadline.ts'
import { stopEngine } from './stop-engine.ts'

export interface ProcessEngineDeps {
  readonly clock: Clock
  readonly log: Log
  readonly bootId: string
  readonly homeId: string
}

/** One engine that runs as processes of this machine; see EngineProcess for what it promises. */
export class ProcessEngine implements EngineProcess {
  readonly ref: ProcessRef
  readonly exited: Promise<ExitFacts>
  readonly #deps: ProcessEngineDeps
  readonly #family: EngineFamily
  readonly #watch: ExitWatch
  #running: { readonly deadline: StopDeadline; readonly outcome: Promise<StopOutcome> } | undefined

  constructor(identity: EngineIdentity, watch: ExitWatch, deps: ProcessEngineDeps) {
    this.ref = { pid: identity.pid, start_ticks: identity.startTicks, boot_id: deps.bootId, home_id: deps.homeId }
    this.exited = watch.exited
    this.#watch = watch
    this.#deps = deps
    this.#family = new EngineFamily(identity, deps.log)
    // The exit usually is what a stop waits for: it should not have to wait for its next poll.
    void this.exited.then(() => this.#running?.deadline.wake())
  }

  stop({ graceMs }: { readonly graceMs: number }): Promise<StopOutcome> {
    if (this.#running !== undefined) {
      this.#running.deadline.shorten(graceMs)
      return this.#running.outcome
    }
    const deadline = new StopDeadline(this.#deps.clock, graceMs)
    const outcome = this.#stop(deadline)
    this.#running = { deadline, outcome }
    return outcome
  }

  readArgv(): Promise<readonly string[] | undefined> {
    return readArgv(this.ref.pid, this.ref.start_ticks)
  }

  async #stop(deadline: StopDeadline): Promise<StopOutcome> {
    const outcome = await stopEngine(this.#family, deadline, this.#deps.log)
    this.#watch.lookNow()
    // Who waits for the stop may count on the exit facts. (One of another user, which cannot be ended, may still be there.)
    if (!seemsAlive({ pid: this.ref.pid, startTicks: this.ref.start_ticks })) await this.exited
    this.#running = undefined
    return outcome
  }
}

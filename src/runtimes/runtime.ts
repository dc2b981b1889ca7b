import type { LaunchPlan, StopSignal } from '../contract/launch-plan.ts'
import type { ProcessRef } from '../contract/slot-state.ts'

/** How an engine ended. `unknown` = it was not our child (found again after a daemon restart). */
export type ExitFacts =
  | { readonly kind: 'code'; readonly code: number; readonly atMs: number }
  | { readonly kind: 'signal'; readonly signal: string; readonly atMs: number }
  | { readonly kind: 'unknown'; readonly atMs: number }

/** How a stop went. `killed` = SIGTERM was not obeyed within the grace. `gone` = it was dead before. */
export type StopOutcome = 'terminated' | 'killed' | 'gone'

/**
 * One running engine: its process, everything in its process group, and every descendant that carries its cookie
 * (HAL0_ENGINE), also when that descendant left the group.
 */
export interface EngineProcess {
  readonly ref: ProcessRef
  /** Resolves once when the main process has exited (open pipes of grandchildren do not delay it); never rejects. */
  readonly exited: Promise<ExitFacts>
  /**
   * SIGTERM to the group, `graceMs` later SIGKILL to everything that is left. Resolves when nothing of the engine is alive.
   * Repeated calls join the first; a later call with a shorter deadline shortens it. Never rejects.
   */
  stop(options: { readonly graceMs: number }): Promise<StopOutcome>
  /** The live command line of the main process, whatever stands before the plan's words; undefined = it is gone or cannot be read. */
  readArgv(): Promise<readonly string[] | undefined>
}

export interface StartOptions {
  /** Drawn for this start; SPEC 4 "attempt id". Part of the cookie. */
  readonly attemptId: string
  /** Secrets by variable name (the engine key): go to the environment, never into a log or plan. */
  readonly secretEnv: Readonly<Record<string, string>>
  /** Absolute path; the engine itself appends stdout and stderr to it (O_APPEND). Folders are made. */
  readonly logPath: string
}

/** An engine of this home that an earlier daemon left running. */
export interface Survivor {
  readonly slot: string
  readonly attemptId: string
  readonly process: EngineProcess
}

/** What a slot's record says of the engine that ran when it was written. */
export interface RecordedProcess {
  readonly slot: string
  readonly attemptId: string
  readonly ref: ProcessRef
}

/** How a slot's process is run. Source: SPEC 10; contract suite: test/contract/runtime.ts. */
export interface Runtime {
  readonly kind: 'process' | 'quadlet'
  /** Errors: `slot.spawn_failed` (no such program, not executable, log folder not writable…), naming program and reason. */
  start(plan: LaunchPlan, options: StartOptions): Promise<EngineProcess>
  /**
   * Every engine of this home that is alive and was not started by this object. `recorded`: engines that would not be recognised
   * otherwise, because they cleared their environment. `stopSignalOf`: what the plan of a start said of its end; absent = nothing.
   */
  findSurvivors(
    recorded: readonly RecordedProcess[],
    stopSignalOf?: (attemptId: string) => StopSignal | undefined,
  ): Promise<readonly Survivor[]>
}

/** Layers of the launch command, lowest precedence first. Source: SPEC 9. */
export const LAUNCH_LAYERS = ['base', 'model', 'profile', 'slot'] as const
export type LaunchLayer = (typeof LAUNCH_LAYERS)[number]

/** What a stop may begin with; SIGKILL follows at its deadline. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const
export type StopSignal = (typeof STOP_SIGNALS)[number]

/** One flag of the command with the layer it came from; no `values` = a switch. */
export interface PlannedFlag {
  /** As it stands in the command. */
  readonly flag: string
  readonly values: readonly string[]
  readonly layer: LaunchLayer
}

/**
 * A launch as data: runtimes execute it, views show it, drift is judged against it. Nothing of it passes through a shell.
 * Source: SPEC 9, DESIGN "Plans are data".
 */
export interface LaunchPlan {
  readonly slot: string
  /** Argv[0]…: the program, then what must stand before the flags (for example a script path). */
  readonly command: readonly [string, ...string[]]
  readonly flags: readonly PlannedFlag[]
  /** Added to a minimal inherited environment; without secrets. */
  readonly env: Readonly<Record<string, string>>
  /** Name of the variable that carries the engine key; the key itself is never part of a plan. Undefined = the runner has no keys. */
  readonly keyEnv?: string
  /** What a stop begins with; absent = SIGTERM. */
  readonly stopSignal?: StopSignal
  /** Loopback port the engine listens on. */
  readonly port: number
}

/** The exact argv of a plan, program first. */
export function argvOf(plan: LaunchPlan): readonly [string, ...string[]] {
  const [program, ...before] = plan.command
  return [program, ...before, ...plan.flags.flatMap(({ flag, values }) => (flag === '' ? values : [flag, ...values]))]
}

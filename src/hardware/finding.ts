import type { RunCommand } from './run-command.ts'

/** One line of `hal0 doctor`. */
export interface Finding {
  /** Stable, kebab-case: `node`, `system`, `home`, `flock`, `embedded-engine`, `llama-server`, `gpu`, `nvidia-smi`, `podman`, `systemd`, `memory`, `history`; of the home's files `settings`, `slots`, `models`. */
  readonly name: string
  readonly ok: boolean
  /** hal0 cannot run here while a required thing is not ok; everything else only adds abilities. */
  readonly required: boolean
  /** What was found, or what was looked for and where. */
  readonly found: string
  /** What it gives where it is present, and would give where it is missing. */
  readonly gives: string
}

/** What the readers look at; tests point it at a made-up machine. */
export interface Machine {
  /** Normally `/`: /sys, /proc and /run are read below it. */
  readonly root: string
  /** Of the person who asks; PATH is looked up in it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** As `process.versions.node`, `process.platform`, `process.arch`. */
  readonly nodeVersion: string
  readonly platform: string
  readonly arch: string
  readonly run: RunCommand
  /** Folder of an installed package as hal0 itself would find it; undefined = not installed. */
  readonly findPackage: (name: string) => string | undefined
  /** Why the binding of SQLite cannot be loaded, and what mends it; undefined = it can. */
  readonly findBindingProblem: () => string | undefined
}

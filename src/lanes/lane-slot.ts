import type { FailureCause } from '../contract/slot-state.ts'
import type { LaneTarget } from './rules/lane-target.ts'

/** What is seen of a lane's slot at a moment. */
export interface LaneSlotView {
  /** `down`: nothing runs; `failed`: neither, and it ended by itself; `busy`: it loads, drains or stops; `up`: it can serve. */
  readonly state: 'down' | 'failed' | 'loading' | 'up' | 'draining' | 'stopping'
  /** What runs, or loads; undefined = nothing. */
  readonly running: LaneTarget | undefined
  readonly inFlight: number
  /** Why it failed last; undefined = it did not. */
  readonly failure:
    | { readonly code: string; readonly message: string; readonly cause: FailureCause | null; readonly atMs: number }
    | undefined
}

/** How a lane drives its slot; the real one is the slot's actor. Calls overtake each other: the last one counts. Source: SPEC 12. */
export interface LaneSlot {
  view(): LaneSlotView
  /**
   * Leases may end within `drainMs` (0 = are cut), then the engine stops and the target is loaded. Resolves when it is ready. Rejects with a
   * Hal0Error: the load's failure, or that a later call overtook this one.
   */
  run(
    target: LaneTarget & { readonly kind: 'model' },
    options: { readonly drainMs: number; readonly restart: boolean },
  ): Promise<void>
  /** As `run`, to nothing. Resolves when the process is gone. */
  stop(options: { readonly drainMs: number }): Promise<void>
  /** Called after anything of `view` may have changed. */
  onChange(listener: () => void): () => void
}

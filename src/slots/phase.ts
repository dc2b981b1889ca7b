import type { LoadPhases } from '../contract/slot-row.ts'
import type { CancelTimer, Clock } from '../kernel/clock.ts'
import type { LoadAttempt } from './load-attempt.ts'
import type { StartedEngine } from './started-engine.ts'

/** A load that finds no verdict is begun once more, not for ever. Source: SPEC 5. */
export type Try = 1 | 2

/** Where a slot is in the life of its process; finer than the wire's states. */
export type Phase =
  /** No process, and none is coming. */
  | { readonly kind: 'down' }
  | {
      readonly kind: 'loading'
      readonly attempt: LoadAttempt
      readonly nth: Try
      readonly begunMs: number
      readonly took: LoadPhases
      /** Undefined until the process was spawned. */
      engine: StartedEngine | undefined
      readonly timers: readonly CancelTimer[]
    }
  | {
      readonly kind: 'up'
      readonly attempt: LoadAttempt
      readonly engine: StartedEngine
      /** False: the engine lists no model (yet). */
      hasModel: boolean
      /** Sequences it decodes at once; null = it queues for itself. */
      parallel: number | null
    }
  /** The process is being ended, or what it left behind. */
  | { readonly kind: 'stopping'; readonly attemptId: string; readonly begunMs: number }

export type PhaseOf<Kind extends Phase['kind']> = Extract<Phase, { kind: Kind }>

/** A load without a verdict says so, then ends. Source: SPEC 5. */
export function armTimers(
  clock: Clock,
  settings: { readonly loadVerdictMs: number; readonly loadLimitMs: number },
  post: (type: 'verdict_due' | 'limit_due') => void,
): readonly CancelTimer[] {
  return [
    clock.setTimer(settings.loadVerdictMs, () => post('verdict_due')),
    clock.setTimer(settings.loadLimitMs, () => post('limit_due')),
  ]
}

/** A load has its verdict, or nobody wants one any more. */
export function cancelTimers(phase: PhaseOf<'loading'>): void {
  for (const cancel of phase.timers) cancel()
}

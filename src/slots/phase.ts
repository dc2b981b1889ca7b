import type { LoadPhases } from '../contract/slot-row.ts'
import type { CancelTimer } from '../kernel/clock.ts'
import type { EngineMessage } from './actor-messages.ts'
import { type AttemptDeps, type AttemptInput, beginAttempt, type LoadAttempt } from './load-attempt.ts'
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
      /** What it loads, as far as that is known; undefined = what the file says, which has not been read yet. */
      modelId: string | undefined
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
  | {
      readonly kind: 'stopping'
      readonly attemptId: string
      readonly begunMs: number
      /** Somebody asked for another start meanwhile: who waits, waits for that one, however this one ended. */
      isOvertaken: boolean
    }

export type PhaseOf<Kind extends Phase['kind']> = Extract<Phase, { kind: Kind }>

/** Begins a start, and the clocks that end it: a load without a verdict says so, then is given up. Source: SPEC 5. */
export function beginLoading(
  deps: AttemptDeps & { readonly settings: { readonly loadVerdictMs: number; readonly loadLimitMs: number } },
  start: AttemptInput,
  { nth, took }: Pick<PhaseOf<'loading'>, 'nth' | 'took'>,
  post: (message: EngineMessage) => void,
): PhaseOf<'loading'> {
  const { clock, settings } = deps
  const { attemptId, override } = start
  return {
    kind: 'loading',
    attempt: beginAttempt(deps, start, post),
    nth,
    begunMs: clock.monotonicMs(),
    took,
    modelId: override?.modelId,
    engine: undefined,
    timers: [
      clock.setTimer(settings.loadVerdictMs, () => post({ type: 'verdict_due', attemptId })),
      clock.setTimer(settings.loadLimitMs, () => post({ type: 'limit_due', attemptId })),
    ],
  }
}

/** A load has its verdict, or nobody wants one any more. */
export function cancelTimers(phase: PhaseOf<'loading'>): void {
  for (const cancel of phase.timers) cancel()
}

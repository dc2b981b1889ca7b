import type { LoadPhases } from '../../contract/slot-row.ts'
import type { CancelTimer } from '../../kernel/clock.ts'
import type { EngineMessage } from '../actor/actor-messages.ts'
import type { AttemptDeps, LoadAttempt } from './load-attempt.ts'
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
      /** It ran before this daemon: how long it takes to come up says nothing of a load. */
      readonly isAdopted: boolean
      readonly nth: Try
      /** Monotonic and wall clock. */
      readonly begunMs: number
      readonly begunAtMs: number
      readonly took: LoadPhases
      /** What it loads, as far as that is known; undefined = what the file says, which has not been read yet. */
      modelId: string | undefined
      /** What tells this launch from another; NO_LAUNCH until it is planned. */
      launch: string
      /** Undefined until the process was spawned. */
      engine: StartedEngine | undefined
      /** It answers with its model; whether what it answers makes sense is still asked. `parallel` as below. */
      answers: { readonly parallel: number | null } | undefined
      timers: readonly CancelTimer[]
      /** Others hold the memory that it needs; nothing has been started. */
      isWaitingForMemory: boolean
    }
  | {
      readonly kind: 'up'
      readonly attempt: LoadAttempt
      readonly engine: StartedEngine
      /** False: the engine lists no model (yet), or what it answers with it is still being looked at. */
      hasModel: boolean
      /** Sequences it decodes at once; null = it queues for itself. */
      parallel: number | null
      /** Monotonic; undefined = it never was. */
      readySinceMs: number | undefined
      /** Ends the live watch, and the timer of its recovery once there is one. */
      stopWatch: () => void
    }
  /** The process is being ended, or what it left behind. */
  | {
      readonly kind: 'stopping'
      readonly attemptId: string
      readonly begunMs: number
      /** Its memory is to come back from now on. */
      readonly onDead: () => void
      /** Somebody asked for another start meanwhile: who waits, waits for that one, however this one ended. */
      isOvertaken: boolean
    }

export type PhaseOf<Kind extends Phase['kind']> = Extract<Phase, { kind: Kind }>

/** The clocks that end a load: one without a verdict says so, then is given up. They begin anew with each call. Source: SPEC 5. */
export function startClocks(
  phase: PhaseOf<'loading'>,
  { clock, settings }: Pick<AttemptDeps, 'clock' | 'settings'>,
  post: (message: EngineMessage) => void,
): void {
  stopClocks(phase)
  const attemptId = phase.attempt.id
  phase.timers = [
    clock.setTimer(settings.loadVerdictMs, () => post({ type: 'verdict_due', attemptId })),
    clock.setTimer(settings.loadLimitMs, () => post({ type: 'limit_due', attemptId })),
  ]
}

/** A load has its verdict, or waits for something that has a clock of its own. */
export function stopClocks(phase: PhaseOf<'loading'>): void {
  for (const cancel of phase.timers) cancel()
  phase.timers = []
}

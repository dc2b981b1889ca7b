import type { SlotRow } from '../../contract/slot-row.ts'
import type { SanityResult, SlotFailure } from '../../contract/slot-state.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { ExitFacts } from '../../runtimes/runtime.ts'
import type { Examination } from '../launch/examine-slot.ts'
import type { Override } from '../launch/read-binding.ts'
import type { AttemptMessage } from '../life/load-attempt.ts'
import type { PhaseOf } from '../life/phase.ts'
import type { StartedEngine } from '../life/started-engine.ts'
import type { ClaimTicket } from './claim-book.ts'
import type { Deferred } from './deferred.ts'
import type { Waiter } from './fair-queue.ts'
import type { BookedLease } from './lease.ts'
import type { StartedBy } from './start-gate.ts'

/** What is learnt of an engine. Each carries its attempt's id; those of a superseded attempt are dropped. */
export type EngineMessage =
  | AttemptMessage
  | { readonly type: 'exited'; readonly attemptId: string; readonly facts: ExitFacts }
  /** The live watch: it does not answer any more. `reason` continues "the engine …". */
  | { readonly type: 'found_dead'; readonly attemptId: string; readonly reason: string }
  /** It has been ready for so long that what was before does not count any more. */
  | { readonly type: 'recovered'; readonly attemptId: string }
  /** `load`: it was still loading; undefined = it was up. `modelId`: what the engine had, or was to have. */
  | {
      readonly type: 'explained'
      readonly attemptId: string
      readonly failure: SlotFailure
      readonly load: PhaseOf<'loading'> | undefined
      readonly modelId: string
    }
  | { readonly type: 'stopped'; readonly attemptId: string }
  | { readonly type: 'verdict_due'; readonly attemptId: string }
  | { readonly type: 'limit_due'; readonly attemptId: string }

export type EngineMessageOf<Type extends EngineMessage['type']> = Extract<EngineMessage, { type: Type }>

/** What people and requests want of a slot. */
export type WishMessage =
  | { readonly type: 'acquire'; readonly waiter: Waiter }
  | { readonly type: 'withdraw'; readonly waiter: Waiter; readonly reason: unknown }
  | { readonly type: 'wait_elapsed'; readonly waiter: Waiter }
  | { readonly type: 'release'; readonly lease: BookedLease; readonly isAnswered: boolean }
  | { readonly type: 'load'; readonly by: StartedBy; readonly answer: Deferred<SlotRow> }
  | {
      readonly type: 'unload'
      readonly drainMs: number
      /** Also a pinned one. */
      readonly force?: boolean
      readonly answer: Deferred<SlotRow>
    }
  | { readonly type: 'restart'; readonly drainMs: number; readonly answer: Deferred<SlotRow> }
  /** `override` undefined = what the file says, which was just written. */
  | {
      readonly type: 'swap'
      readonly override: Override | undefined
      readonly drainMs: number
      readonly answer: Deferred<SlotRow>
    }
  | {
      readonly type: 'close'
      readonly why: ClosingReason
      readonly drainMs: number
      readonly keepEngine: boolean
      readonly answer: Deferred<void>
    }
  /** Closes the slot if nothing of it runs or waits; else `slot.illegal_transition`. */
  | { readonly type: 'close_if_down'; readonly why: ClosingReason; readonly answer: Deferred<void> }
  /** An earlier daemon started it; only as a slot's first message. `known`: what was found of its output. */
  | { readonly type: 'adopt'; readonly engine: StartedEngine; readonly known: SanityResult | undefined }
  /** The slot's files may say something else now. Answered when they have been looked at. */
  | { readonly type: 'files_changed'; readonly answer: Deferred<SlotRow> }
  /** `attemptId`: the engine it was compared with; undefined = none ran. `override`: the one it was read with. */
  | {
      readonly type: 'examined'
      readonly found: Examination
      readonly attemptId: string | undefined
      readonly override: Override | undefined
      readonly answers: readonly Deferred<SlotRow>[]
    }
  | { readonly type: 'drain_elapsed' }
  /** Somebody needs the memory: now if nobody uses it, or when its requests have ended. */
  | { readonly type: 'evict' | 'claim' | 'give_up_claim'; readonly ticket: ClaimTicket }
  /** It may be quiet for long enough. */
  | { readonly type: 'idle_due' }
  /** Could this model be loaded in the place of the engine that is up? `problem`: why not. */
  | {
      readonly type: 'turn_examined'
      readonly attemptId: string
      readonly modelId: string
      readonly problem: Hal0Error | undefined
    }
  | (LaunchCompared & { readonly unloads: number })

/** Wishes that compare the files with what runs before they touch it. */
export type ComparingWish = WishOf<'load'> | WishOf<'restart'> | WishOf<'swap'>

/** The files have been read for a wish about what is up: what would a start be now, compared with what runs? */
export interface LaunchCompared {
  readonly type: 'launch_compared'
  readonly attemptId: string
  readonly wish: ComparingWish
  readonly found: Examination
}

/** Why a slot takes no wishes any more. */
export type ClosingReason = 'daemon_stops' | 'deleted' | 'renamed'

export type WishOf<Type extends WishMessage['type']> = Extract<WishMessage, { type: Type }>

/** Everything a slot's actor reacts to. */
export type ActorMessage = WishMessage | EngineMessage

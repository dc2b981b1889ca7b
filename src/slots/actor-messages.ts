import type { SlotRow } from '../contract/slot-row.ts'
import type { SlotFailure } from '../contract/slot-state.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'
import type { ExitFacts } from '../runtimes/runtime.ts'
import type { Deferred } from './deferred.ts'
import type { Waiter } from './lease-book.ts'
import type { AttemptMessage } from './load-attempt.ts'
import type { Lease } from './slots.ts'

/** What is learnt of an engine. Each carries its attempt's id; those of a superseded attempt are dropped. */
export type EngineMessage =
  | AttemptMessage
  | { readonly type: 'exited'; readonly attemptId: string; readonly facts: ExitFacts }
  | { readonly type: 'explained'; readonly attemptId: string; readonly failure: SlotFailure; readonly wasUp: boolean }
  | { readonly type: 'stopped'; readonly attemptId: string }
  | { readonly type: 'verdict_due'; readonly attemptId: string }
  | { readonly type: 'limit_due'; readonly attemptId: string }

export type EngineMessageOf<Type extends EngineMessage['type']> = Extract<EngineMessage, { type: Type }>

/** What people and requests want of a slot. */
export type WishMessage =
  | { readonly type: 'acquire'; readonly waiter: Waiter }
  | { readonly type: 'withdraw'; readonly waiter: Waiter; readonly reason: unknown }
  | { readonly type: 'wait_elapsed'; readonly waiter: Waiter }
  | { readonly type: 'release'; readonly lease: Lease }
  | { readonly type: 'load'; readonly answer: Deferred<SlotRow> }
  | { readonly type: 'unload'; readonly drainMs: number; readonly answer: Deferred<SlotRow> }
  | { readonly type: 'restart'; readonly drainMs: number; readonly answer: Deferred<SlotRow> }
  | { readonly type: 'close'; readonly drainMs: number; readonly keepEngine: boolean; readonly answer: Deferred<void> }
  | { readonly type: 'drain_elapsed' }
  | (LaunchCompared & { readonly unloads: number })

/** The files have been read for a load or restart of what is up: what would a start be now, compared with what runs? */
export interface LaunchCompared {
  readonly type: 'launch_compared'
  readonly attemptId: string
  readonly wish: WishOf<'load'> | WishOf<'restart'>
  readonly found: Result<'same' | 'changed', Hal0Error>
}

export type WishOf<Type extends WishMessage['type']> = Extract<WishMessage, { type: Type }>

/** Everything a slot's actor reacts to. */
export type ActorMessage = WishMessage | EngineMessage

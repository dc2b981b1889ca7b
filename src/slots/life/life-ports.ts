import type { LoadRecord } from '../../contract/load-record.ts'
import type { SlotRow } from '../../contract/slot-row.ts'
import type { Publisher } from '../../events/bus.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import type { AttemptDeps } from './load-attempt.ts'
import type { Try } from './phase.ts'

/** One load has ended: the history and the metrics keep it. */
export type LoadListener = (record: LoadRecord) => void

/** What the life of an engine needs of the world. */
export interface LifeDeps extends AttemptDeps {
  readonly bus: Publisher
  readonly log: Log
  readonly onLoadEnded: LoadListener
}

/** What the actor around it needs besides. */
export interface ActorDeps extends LifeDeps {
  /** An engine's connections are of no more use. */
  readonly onEngineGone: (attemptId: string) => void
  /** Nothing of the slot runs any more, and nothing is about to. */
  readonly onDown: (slot: string) => void
  /** Why nothing of the slot may start now, whoever asks; undefined = it may. Source: SPEC 8 "Arbiter". */
  readonly startRefusal: (slot: string) => Hal0Error | undefined
  /** Who else decides what the slot runs. */
  readonly managedBy: (slot: string) => SlotRow['managed_by']
}

/** What the life of the engine means for those who wait for it. Called while a message is handled, never later. */
export interface LifeListener {
  /** It can serve. */
  onReady(): void
  /** This load will serve nobody who wants `modelId` or whatever there is. Undefined = the file could not be read: its model is unknown. */
  onLoadFailed(error: Hal0Error, modelId: string | undefined): void
  /** It died while it was up: leases are worthless, and hear `error`. */
  onCrashed(error: Hal0Error): void
  /** Its connections are of no more use (crash, or a stop has begun). */
  onEngineGone(attemptId: string): void
  /** May the same load be begun once more, as soon as the process is gone? False = somebody wants the slot to be off. */
  onAgain(nth: Try): boolean
  /** Nothing of it is alive. */
  onDown(): void
}

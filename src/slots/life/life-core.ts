import type { ContextChoice } from '../../contract/slot-row.ts'
import type { SanityResult } from '../../contract/slot-state.ts'
import type { EngineMessage } from '../actor/actor-messages.ts'
import type { BreakerBook } from '../actor/breaker-book.ts'
import type { FilesView } from '../actor/files-view.ts'
import type { StateBoard } from '../actor/state-board.ts'
import type { HeadStart } from './head-start.ts'
import type { LifeDeps, LifeListener } from './life-ports.ts'
import { LifeReport } from './life-report.ts'
import { LoadTimes } from './load-times.ts'
import type { Phase } from './phase.ts'
import { PortRetries } from './port-retries.ts'

/** What the life of the engine shares with the rest of its slot. */
export interface LifeParts {
  readonly name: string
  readonly files: FilesView
  readonly board: StateBoard
  readonly breaker: BreakerBook
  /** Monotonic ms at which a lease last moved bytes. */
  readonly lastMovedMs: () => number
  /** Monotonic ms at which the oldest request that waits came. */
  readonly oldestWaiterMs: () => number | undefined
}

/** What the stages of an engine's life share. Belongs to `EngineLife`; one message at a time. */
export class LifeCore {
  readonly name: string
  readonly board: StateBoard
  readonly parts: LifeParts
  readonly deps: LifeDeps
  readonly listener: LifeListener
  readonly post: (message: EngineMessage) => void
  readonly report: LifeReport
  readonly times = new LoadTimes()
  readonly portRetries = new PortRetries()
  phase: Phase = { kind: 'down' }
  /** Of the start that follows the stop that runs, where it is known what that will be. */
  headStart: HeadStart | undefined
  /** Of the last launch that was prepared. */
  ctx: ContextChoice | undefined
  /** What an earlier daemon found of the engine that was adopted. */
  knownSanity: SanityResult | undefined

  constructor(parts: LifeParts, deps: LifeDeps, listener: LifeListener, post: (message: EngineMessage) => void) {
    this.parts = parts
    this.name = parts.name
    this.board = parts.board
    this.deps = deps
    this.listener = listener
    this.post = post
    this.report = new LifeReport(parts.name, deps, parts.breaker, () => parts.files.bound?.profile)
  }

  tryAnotherPort(): boolean {
    if (!this.portRetries.mayTryAnother(this.parts.files.bound?.config.port)) return false
    if (!this.listener.onAgain(1)) return false
    const message = `port ${this.board.record.port} was taken meanwhile; trying another`
    this.board.refresh({ message })
    this.report.portTaken(message)
    return true
  }
}

import type { SlotRow } from '../../contract/slot-row.ts'
import type { SlotBinding } from '../launch/read-binding.ts'
import { EngineLife } from '../life/engine-life.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import type { ActorMessage } from './actor-messages.ts'
import { BreakerBook } from './breaker-book.ts'
import { ClaimBook } from './claim-book.ts'
import { DrainDeadline } from './drain-deadline.ts'
import { Evictions } from './evictions.ts'
import { FilesView } from './files-view.ts'
import { idleFactsOf } from './idle-facts.ts'
import { IdleReview } from './idle-review.ts'
import { LeaseBook } from './lease-book.ts'
import { createLifeListener } from './life-listener.ts'
import { StartGate } from './start-gate.ts'
import type { StateBoard } from './state-board.ts'
import { StopLine } from './stop-line.ts'
import { WaitingRoom } from './waiting-room.ts'
import { Wishes } from './wishes.ts'

/** What one slot's actor is made of; each part knows the others through this, and only while a message is handled. */
export interface SlotParts {
  readonly name: string
  readonly deps: ActorDeps
  readonly board: StateBoard
  readonly book: LeaseBook
  readonly breaker: BreakerBook
  readonly claims: ClaimBook
  readonly drain: DrainDeadline
  readonly evictions: Evictions
  readonly files: FilesView
  readonly gate: StartGate
  readonly idle: IdleReview
  readonly life: EngineLife
  readonly stops: StopLine
  readonly waitingRoom: WaitingRoom
  readonly wishes: Wishes
  /** A lane drives it, and nobody else: no request, no quiet and no other slot decides anything of it. Source: SPEC 12. */
  readonly isLanes: () => boolean
  readonly row: () => SlotRow
  readonly post: (message: ActorMessage) => void
  /** Nothing of the slot is left to be done. */
  readonly closed: () => void
}

/** What the parts ask of their actor. */
export type PartsHost = Pick<SlotParts, 'row' | 'post' | 'closed'> & {
  /** Nobody holds a lease, and the next one waits for this model. */
  onTurnOver(modelId: string): void
}

export interface PartsInput {
  readonly name: string
  readonly bound: SlotBinding | undefined
  readonly board: StateBoard
  readonly deps: ActorDeps
}

export function createSlotParts({ name, bound, board, deps }: PartsInput, host: PartsHost): SlotParts {
  const { clock } = deps
  const { post } = host
  const partsOf = (): SlotParts => parts
  const book = new LeaseBook(
    () => clock.monotonicMs(),
    (lease, isAnswered) => post({ type: 'release', lease, isAnswered }),
  )
  const isLanes = () => deps.managedBy(name) === 'lane'
  // A lane's own retry is in the place of the breaker. Source: SPEC 12 "Failure".
  const breaker = new BreakerBook(
    board.record.extra.breakers ?? [],
    (entries) => board.keepBreakers(entries),
    () => !isLanes(),
  )
  const files = new FilesView({ name, bound, board }, deps, { life: () => parts.life, post })
  const drain = new DrainDeadline(clock, () => post({ type: 'drain_elapsed' }))
  const evictions = new Evictions(partsOf)
  const gate = new StartGate(partsOf)
  const waits = { lastMovedMs: () => book.lastMovedMs, oldestWaiterMs: () => book.oldestMs }
  const life = new EngineLife({ name, files, board, breaker, ...waits }, deps, createLifeListener(partsOf), post)
  const claims = new ClaimBook()
  const waitingRoom = new WaitingRoom({ name, book, life, drain, board, files, claims }, deps, {
    onLoadWanted: () => gate.requested(),
    isLanes,
    onElapsed: (waiter) => post({ type: 'wait_elapsed', waiter }),
    onTurnOver: (modelId) => host.onTurnOver(modelId),
  })
  const idle = new IdleReview(clock, () => idleFactsOf(parts), {
    onDue: () => post({ type: 'idle_due' }),
    onAction: ({ action, reason }) => {
      if (action === 'unload') evictions.unloadIdle(reason)
      else board.apply('went_quiet', { extra: { ...board.record.extra, idle_reason: 'quiet' } })
    },
  })
  const parts: SlotParts = {
    name,
    deps,
    board,
    book,
    breaker,
    claims,
    drain,
    evictions,
    files,
    gate,
    idle,
    life,
    stops: new StopLine(partsOf, drain),
    waitingRoom,
    wishes: new Wishes(name, deps),
    isLanes,
    row: () => host.row(),
    post,
    closed: () => host.closed(),
  }
  return parts
}

import type { SlotRow } from '../contract/slot-row.ts'
import type { DrainDeadline } from './drain-deadline.ts'
import type { EngineLife } from './engine-life.ts'
import type { FilesView } from './files-view.ts'
import type { LeaseBook } from './lease-book.ts'
import type { ActorDeps, LifeListener } from './life-ports.ts'
import { engineDiedError } from './slot-failures.ts'
import type { StateBoard } from './state-board.ts'
import type { WaitingRoom } from './waiting-room.ts'
import type { Wishes } from './wishes.ts'

/** The parts of one actor that hear of its engine's life. */
export interface ListeningParts {
  readonly name: string
  readonly deps: ActorDeps
  readonly book: LeaseBook
  readonly drain: DrainDeadline
  readonly files: FilesView
  readonly life: EngineLife
  readonly waitingRoom: WaitingRoom
  readonly wishes: Wishes
  readonly row: () => SlotRow
  readonly board: StateBoard
  readonly closed: () => void
}

/** What the life of the engine means for those who wait. Belongs to the slot's actor. */
export function createLifeListener(partsOf: () => ListeningParts): LifeListener {
  return {
    onReady: () => {
      const { files, row, waitingRoom, wishes } = partsOf()
      wishes.load.resolve(row())
      waitingRoom.beginTurn()
      files.look()
    },
    onLoadFailed: (error, failedModelId) => {
      const { book, deps, files, life, name, waitingRoom, wishes } = partsOf()
      // A load that was asked for while this one failed has joined it.
      wishes.next = undefined
      // Who waits for another model still has a chance.
      book.rejectAll(error, ({ modelId }) => modelId === undefined || modelId === failedModelId)
      wishes.load.reject(error)
      // A swap that came to nothing: who comes next gets what the file says.
      if (files.override?.modelId === failedModelId) files.dropOverride()
      if (wishes.closing !== undefined) return
      // Nothing has to be stopped first, or a model that is of no use has the place.
      if (life.phase.kind === 'down' || life.phase.kind === 'up') waitingRoom.serve()
      if (life.phase.kind === 'down') deps.onDown(name)
    },
    onCrashed: (exit) => {
      const { book, drain, name } = partsOf()
      drain.off()
      book.revokeAll(engineDiedError(name, exit))
    },
    onEngineGone: (attemptId) => {
      const { deps, life, waitingRoom, wishes } = partsOf()
      deps.onEngineGone(attemptId)
      waitingRoom.serve()
      if (life.phase.kind === 'stopping') wishes.boundStopWaits()
    },
    onAgain: (nth) => {
      const { wishes } = partsOf()
      if (wishes.closing !== undefined || wishes.stop.size > 0) return false
      wishes.next = nth
      return true
    },
    onDown: () => {
      const { board, closed, deps, files, life, name, row, waitingRoom, wishes } = partsOf()
      files.down()
      if (wishes.stop.size > 0) board.forgetFailure()
      wishes.stop.resolve(row())
      if (wishes.closing !== undefined) return closed()
      const nth = wishes.next
      wishes.next = undefined
      if (nth === undefined) {
        waitingRoom.serve()
        if (life.phase.kind === 'down') deps.onDown(name)
        return
      }
      wishes.load.unboundWaits()
      life.begin(nth)
    },
  }
}

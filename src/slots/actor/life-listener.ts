import type { LifeListener } from '../life/life-ports.ts'
import { unloadingError } from '../slot-failures.ts'
import type { SlotParts } from './slot-parts.ts'

/** What the life of the engine means for those who wait. Belongs to the slot's actor. */
export function createLifeListener(partsOf: () => SlotParts): LifeListener {
  return {
    onReady: () => {
      const { evictions, files, idle, row, waitingRoom, wishes } = partsOf()
      wishes.load.resolve(row())
      evictions.cameUp()
      waitingRoom.beginTurn()
      files.look()
      idle.look()
      evictions.review()
    },
    onLoadFailed: (error, failedModelId) => {
      const { book, claims, deps, files, life, name, waitingRoom, wishes } = partsOf()
      if (life.phase.kind === 'down') claims.refuse(() => true)
      // A load that was asked for while this one failed has joined it.
      wishes.dropNext()
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
    onCrashed: (error) => {
      const { book, drain } = partsOf()
      drain.off()
      book.revokeAll(error)
    },
    onEngineGone: (attemptId) => {
      const { board, book, deps, idle, life, name, waitingRoom, wishes } = partsOf()
      idle.stop()
      const why = board.state === 'error' ? 'clears up after a crash' : 'is being unloaded'
      book.looks.revokeAll(unloadingError(name, why))
      deps.onEngineGone(attemptId)
      waitingRoom.serve()
      if (life.phase.kind === 'stopping') wishes.boundStopWaits()
    },
    onAgain: (nth) => {
      const { wishes } = partsOf()
      if (wishes.closing !== undefined || wishes.stop.size > 0) return false
      wishes.loadNext(nth, 'daemon')
      return true
    },
    onDown: () => {
      const { board, claims, closed, deps, files, gate, life, name, row, waitingRoom, wishes } = partsOf()
      files.down()
      // What has died by itself made way for nobody.
      if (board.state === 'error') claims.refuse(() => true)
      else claims.gone()
      if (wishes.stop.size > 0) board.forgetFailure()
      wishes.stop.resolve(row())
      if (wishes.closing !== undefined) return closed()
      const { next } = wishes
      wishes.dropNext()
      if (next === undefined) {
        waitingRoom.serve()
        if (life.phase.kind === 'down') deps.onDown(name)
        return
      }
      wishes.load.unboundWaits()
      gate.again(next)
    },
  }
}

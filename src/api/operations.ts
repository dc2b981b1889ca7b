import { randomUUID } from 'node:crypto'
import { errorBody } from '../contract/error-body.ts'
import type { Operation, OperationKind } from '../contract/operation.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { Clock } from '../kernel/clock.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { isoTime } from '../kernel/units.ts'

/** Finished operations that can still be asked for; the oldest go first. Running ones always can. */
const KEEP_FINISHED = 1_000

export interface BegunOperation {
  readonly id: string
  /** As it stands now. */
  readonly now: () => Operation
  /** Never rejects. */
  readonly outcome: Promise<Result<SlotRow, Hal0Error>>
}

/** Slot operations by id: they go on whether or not the caller still waits. Source: SPEC 16 "?wait=". */
export interface Operations {
  begin(kind: OperationKind, slot: string, run: () => Promise<SlotRow>): BegunOperation
  find(id: string): Operation | undefined
}

export function createOperations(options: { readonly clock: Clock; readonly log: Log }): Operations {
  const { clock, log } = options
  const all = new Map<string, Operation>()
  const finished: string[] = []

  function settle(operation: Operation, end: Pick<Operation, 'state' | 'result' | 'error'>): void {
    all.set(operation.id, { ...operation, ...end, finished_at: isoTime(clock.nowMs()) })
    finished.push(operation.id)
    const oldest = finished.length > KEEP_FINISHED ? finished.shift() : undefined
    if (oldest !== undefined) all.delete(oldest)
  }

  return {
    begin(kind, slot, run) {
      const operation: Operation = {
        id: randomUUID(),
        kind,
        slot,
        state: 'running',
        started_at: isoTime(clock.nowMs()),
        finished_at: null,
        result: null,
        error: null,
      }
      all.set(operation.id, operation)
      log.info({ operation: operation.id, slot }, `${kind} asked for`)
      const outcome = guarded(run).then(
        (row) => {
          settle(operation, { state: 'done', result: row, error: null })
          return ok(row)
        },
        (thrown: unknown) => {
          const error = toHal0Error(thrown)
          // An error of the registry is the slot's business and in its events; any other is a fault of ours.
          if (error !== thrown) log.error({ operation: operation.id, slot, err: thrown }, `${kind} failed unexpectedly`)
          settle(operation, { state: 'failed', result: null, error: errorBody(error).error })
          return err(error)
        },
      )
      return { id: operation.id, now: () => all.get(operation.id) ?? operation, outcome }
    },
    find: (id) => all.get(id),
  }
}

/** A synchronous throw becomes a rejection. */
async function guarded(run: () => Promise<SlotRow>): Promise<SlotRow> {
  return await run()
}

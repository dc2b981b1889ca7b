import type { RequestRecord } from '../contract/request-record.ts'
import type { RequestReader } from '../contract/usage.ts'
import type { CancelTimer, Clock } from '../kernel/clock.ts'
import { messageOf } from '../kernel/errors.ts'
import { type Log, silentLog } from '../kernel/log.ts'

/** Records wait so long at most before somebody looks at them. */
export const LOOK_AFTER_MS = 50
/** So many are looked at without waiting for the time. */
export const LOOK_AT = 512
/** In one turn of the event loop: a millisecond or so, which a request that comes meanwhile has to wait. */
export const PER_TURN = 128

/** Where requests are written down when they are over: log, counts and sums are made of them off the way of requests. Source: SPEC 11, 17. */
export interface RequestLedger {
  /** Costs a push on an array. */
  add(record: RequestRecord): void
  /** All that waits is looked at before this returns. */
  flush(): void
  /** As `flush`; what is added later is looked at once. Idempotent. */
  close(): void
}

/** `log` hears of a reader that throws, though none may; the others read on. */
export function createLedger(clock: Clock, readers: readonly RequestReader[], log: Log = silentLog): RequestLedger {
  let waiting: RequestRecord[] = []
  let cancelTimer: CancelTimer | undefined
  let turn: NodeJS.Immediate | undefined
  let isClosed = false

  function add(record: RequestRecord): void {
    const length = waiting.push(record)
    if (isClosed) return flush()
    if (length === 1) cancelTimer = clock.setTimer(LOOK_AFTER_MS, onTime)
    else if (length >= LOOK_AT && turn === undefined) turn = setImmediate(onTurn)
  }

  function onTime(): void {
    cancelTimer = undefined
    if (turn === undefined) onTurn()
  }

  /** Looks at some, and leaves the loop to requests before it looks at more. */
  function onTurn(): void {
    rest()
    const some = waiting
    if (some.length > PER_TURN) {
      waiting = some.slice(PER_TURN)
      some.length = PER_TURN
      turn = setImmediate(onTurn)
    } else waiting = []
    read(some)
  }

  function rest(): void {
    cancelTimer?.()
    cancelTimer = undefined
    if (turn !== undefined) clearImmediate(turn)
    turn = undefined
  }

  function flush(): void {
    rest()
    while (waiting.length > 0) {
      const some = waiting
      waiting = []
      read(some)
    }
  }

  function read(records: readonly RequestRecord[]): void {
    if (records.length === 0) return
    const usages = records.map(usageOf)
    for (const reader of readers) {
      try {
        reader(records, usages)
      } catch (thrown) {
        log.error({ reason: messageOf(thrown), records: records.length }, 'requests that are over could not be read')
      }
    }
  }

  function usageOf(record: RequestRecord) {
    try {
      return record.usage()
    } catch (thrown) {
      log.error({ request_id: record.requestId, reason: messageOf(thrown) }, 'the usage of a request could not be read')
      return null
    }
  }

  return {
    add,
    flush,
    close() {
      isClosed = true
      flush()
    },
  }
}

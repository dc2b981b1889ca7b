import type { Hal0Event, NewEvent } from '../contract/events.ts'
import type { Clock } from '../kernel/clock.ts'
import { messageOf } from '../kernel/errors.ts'
import { type Log, silentLog } from '../kernel/log.ts'
import { isoTime, MINUTE_MS } from '../kernel/units.ts'
import type { EventBus, Subscription } from './bus.ts'
import { createErrorFolds } from './error-folds.ts'

/** Identical errors within so long are one row. Source: SPEC 17. */
export const FOLD_WINDOW_MS = MINUTE_MS
const DEFAULT_KEEP = 10_000
/** Readers follow a slot's state by these, so each one is told of, folded or not. They cannot be a storm: a state has to change. */
const STATE_EVENT = 'slot.state'

export interface MemoryBusOptions {
  readonly clock: Clock
  /** Told of readers that throw. */
  readonly log?: Log
  /** Events kept for late readers, at least 1; the oldest go first. Default 10 000. */
  readonly keep?: number
  /**
   * Id of the first event; default: the start time in microseconds. So an id of an earlier life is always below, and a reader
   * that comes back with one is told of the gap instead of being given another life's events.
   */
  readonly firstId?: number
}

type Reader = Parameters<EventBus['subscribe']>[0]

interface Member {
  readonly reader: Reader
  /** Ids up to here were delivered or are not wanted. */
  lastId: number
  open: boolean
}

/**
 * The event bus in memory. Publishing is synchronous: when `publish` returns, every reader was called (a publish from inside a
 * reader is delivered after the current event, so all readers see one order). A reader that throws is logged and hurts nobody.
 *
 * Folding: an error that is identical (type, source, message) to one of the last minute makes no new row. The row of the first keeps
 * its id and ts, gets the newest data, and `data.count` says how often it happened. Live readers are given the changed row again at
 * 2, 4, 8, 16, … occurrences (of `slot.state` at each), so that a storm stays cheap: an id that was seen before means "this row changed". A replay skips changes
 * of rows that the reader has. Source: SPEC 17.
 */
export function createEventBus(options: MemoryBusOptions): EventBus {
  const { clock, log = silentLog, keep = DEFAULT_KEEP } = options
  let nextId = options.firstId ?? Math.max(1, clock.nowMs()) * 1000
  /** Ids without holes, so the place of a row follows from its id. */
  let kept: Hal0Event[] = []
  const members = new Set<Member>()
  const folds = createErrorFolds(FOLD_WINDOW_MS)
  const waiting: { readonly event: Hal0Event; readonly isChange: boolean }[] = []
  let delivering = false

  function deliver(): void {
    if (delivering) return
    delivering = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      for (const member of [...members]) {
        if (!member.open || (!next.isChange && next.event.id <= member.lastId)) continue
        member.lastId = Math.max(member.lastId, next.event.id)
        call(() => member.reader.onEvent(next.event))
      }
    }
    delivering = false
  }

  function call(tell: () => void): void {
    try {
      tell()
    } catch (thrown) {
      log.error({ err: messageOf(thrown) }, 'a reader of the event bus failed')
    }
  }

  function append(fresh: NewEvent, nowMs: number): Hal0Event {
    const event: Hal0Event = { id: nextId++, ts: isoTime(nowMs), ...fresh }
    kept.push(event)
    // Cut in bulk: dropping one of ten thousand each time would move the whole array.
    if (kept.length >= keep * 2) kept = kept.slice(-keep)
    waiting.push({ event, isChange: false })
    return event
  }

  /** False when the row is no longer kept. */
  function change(id: number, data: Hal0Event['data'], count: number): boolean {
    const at = id - (kept[0]?.id ?? nextId)
    const before = kept[at]
    if (before === undefined || at < kept.length - keep) return false
    const event = { ...before, data: { ...data, count } }
    kept[at] = event
    if (event.type === STATE_EVENT || isPowerOfTwo(count)) waiting.push({ event, isChange: true })
    return true
  }

  /** Kept rows, oldest first: at most `keep`, however many the last bulk cut left. */
  function visible(): readonly Hal0Event[] {
    return kept.length > keep ? kept.slice(-keep) : kept
  }

  function replay(reader: Reader, afterId: number): void {
    const rows = visible()
    const oldestId = rows[0]?.id ?? nextId
    if (afterId < oldestId - 1 || afterId >= nextId) {
      call(() => reader.onGap?.(oldestId))
      return
    }
    for (const event of rows) if (event.id > afterId) call(() => reader.onEvent(event))
  }

  return {
    publish(fresh) {
      const nowMs = clock.nowMs()
      const fold = fresh.severity === 'error' ? folds.find(fresh, nowMs) : undefined
      if (fold !== undefined && change(fold.firstId, fresh.data, fold.count + 1)) fold.count++
      else {
        const event = append(fresh, nowMs)
        if (event.severity === 'error') folds.open(event, nowMs)
      }
      deliver()
    },
    subscribe(reader): Subscription {
      const member: Member = { reader, lastId: nextId - 1, open: true }
      const { afterId } = reader
      if (afterId !== undefined) replay(reader, afterId)
      members.add(member)
      return {
        close() {
          member.open = false
          members.delete(member)
        },
      }
    },
    recent: (limit) => (limit <= 0 ? [] : visible().slice(-limit)),
  }
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0
}

import type { Resync } from '../contract/resync.ts'
import type { Clock } from '../kernel/clock.ts'
import { KIB, SECOND_MS } from '../kernel/units.ts'

/** Proxies and browsers drop a silent connection; this comment keeps it. Source: SPEC 17. */
export const KEEPALIVE_MS = 15 * SECOND_MS
/** Messages that wait for a reader; one more, and the reader is slow. */
export const MAX_QUEUED = 1_024
/** One write; more waits in the queue, where it can still be dropped. */
const BATCH_CHARS = 64 * KIB

export interface SseMessage {
  readonly event?: string
  /** The reader's Last-Event-ID from now on. */
  readonly id?: number
  /** JSON-serialisable. */
  readonly data: unknown
}

/** One reader of a text/event-stream. */
export interface SseChannel {
  readonly response: Response
  /** Aborts once, when nobody reads any more: the reader left, `end` was called, or the daemon closes. */
  readonly ended: AbortSignal
  /**
   * Queues a message. When MAX_QUEUED wait, all are dropped; what comes until the reader takes something is dropped too, then
   * the reader gets `event: resync` and `onResync` is called to queue what it needs to go on.
   */
  send(message: SseMessage): void
  /** What `fill` sends (at once) does not count against MAX_QUEUED: a backlog is large although the reader is not slow. */
  sendBacklog<T>(fill: () => T): T
  /** Resolves when the reader has taken everything, or has ended. For sources that can wait. */
  drained(): Promise<void>
  /** What waits is still sent, then the stream ends. */
  end(): void
}

export interface SseOptions {
  readonly clock: Clock
  /** Daemon shutdown: the stream ends at once. */
  readonly closing: AbortSignal
  /** May the reader still read? Asked before everything that is sent, and at each keepalive; no ends the stream at once. */
  readonly mayRead: () => boolean
  readonly onResync?: () => void
  /** A HEAD request: headers only, nothing is ever sent. */
  readonly headersOnly?: boolean
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const

/** Opens the stream; it sends a comment at once, so that the reader and every proxy see it begin. Source: SPEC 17, CASES 1. */
export function openSse(options: SseOptions): SseChannel {
  const encoder = new TextEncoder()
  const ended = new AbortController()
  const queue: SseMessage[] = []
  let preamble = ': hal0\n\n'
  let limit = MAX_QUEUED
  let isLost = false
  let isEnding = false
  let isFilling = false
  /** The reader waits for more; the queue is empty then. */
  let isWanted = false
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let onDrained: (() => void)[] = []
  let cancelKeepalive = () => {}

  function finish(): void {
    if (ended.signal.aborted) return
    cancelKeepalive()
    options.closing.removeEventListener('abort', close)
    queue.length = 0
    ended.abort()
    tellDrained()
  }

  function close(): void {
    if (ended.signal.aborted) return
    finish()
    controller?.close()
  }

  function tellDrained(): void {
    const waiting = onDrained
    onDrained = []
    for (const tell of waiting) tell()
  }

  function write(text: string): void {
    isWanted = false
    controller?.enqueue(encoder.encode(text))
  }

  /** Gives a waiting reader the next batch; sets `drained` when there is none. */
  function flush(): void {
    if (!isWanted || isFilling || ended.signal.aborted) return
    if (!options.mayRead()) return close()
    if (isLost) {
      isLost = false
      limit = MAX_QUEUED
      queue.push({ event: 'resync', data: { reason: 'slow_reader' } satisfies Resync })
      options.onResync?.()
      // What it queued went out already, the resync before it.
      if (!isWanted) return
    }
    let text = preamble
    preamble = ''
    let taken = 0
    for (const message of queue) {
      if (text.length >= BATCH_CHARS) break
      text += textOf(message)
      taken++
    }
    queue.splice(0, taken)
    limit = Math.min(limit, MAX_QUEUED + queue.length)
    if (text !== '') return write(text)
    if (isEnding) close()
    else tellDrained()
  }

  function armKeepalive(): void {
    cancelKeepalive = options.clock.setTimer(KEEPALIVE_MS, () => {
      if (!options.mayRead()) return close()
      // A reader that has not taken what waits needs no sign of life.
      if (isWanted) write(': keepalive\n\n')
      armKeepalive()
    })
  }

  const channel: SseChannel = {
    response: new Response(options.headersOnly === true ? null : body(), { headers: SSE_HEADERS }),
    ended: ended.signal,
    send(message) {
      if (ended.signal.aborted || isEnding || isLost) return
      if (queue.length >= limit) {
        queue.length = 0
        isLost = true
        return
      }
      queue.push(message)
      flush()
    },
    sendBacklog(fill) {
      limit = Number.POSITIVE_INFINITY
      isFilling = true
      try {
        return fill()
      } finally {
        isFilling = false
        limit = MAX_QUEUED + queue.length
        flush()
      }
    },
    drained() {
      if (ended.signal.aborted || (isWanted && queue.length === 0)) return Promise.resolve()
      return new Promise((resolve) => onDrained.push(resolve))
    },
    end() {
      isEnding = true
      flush()
    },
  }

  function body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (own) => {
          controller = own
        },
        pull() {
          isWanted = true
          flush()
        },
        cancel: finish,
      },
      { highWaterMark: 0 },
    )
  }

  if (options.headersOnly === true || options.closing.aborted) close()
  else {
    options.closing.addEventListener('abort', close)
    armKeepalive()
  }
  return channel
}

function textOf(message: SseMessage): string {
  const event = message.event === undefined ? '' : `event: ${message.event}\n`
  const id = message.id === undefined ? '' : `id: ${message.id}\n`
  // JSON has no raw line ends, so one data line is enough.
  return `${event}${id}data: ${JSON.stringify(message.data)}\n\n`
}

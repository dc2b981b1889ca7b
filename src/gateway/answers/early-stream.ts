import { type ErrorEventBody, errorEventBody } from '../../contract/error-event.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { EarlyAnswer, Exchange } from '../exchange.ts'
import { beginFraming, type Framing, framed, LAST_CHUNK } from './framing.ts'
import { createHeartbeat, type Heartbeat } from './heartbeat.ts'
import { createEventFilter } from './sse-filter.ts'

/**
 * Signs of life while a request waits, for a client that asked for them: with the first one the answer is an event stream with status 200, and
 * what goes wrong is told as an event. An answer that comes before that has a status of its own. Source: SPEC 11 "Streaming".
 */
export class EarlyStream implements EarlyAnswer {
  readonly #exchange: Exchange
  readonly #heartbeat: Heartbeat
  framing: Framing | undefined

  constructor(exchange: Exchange, everyMs: number) {
    this.#exchange = exchange
    const { dialect } = exchange
    this.#heartbeat = createHeartbeat(exchange.clock, everyMs, (bytes) => this.#send(bytes), { dialect })
    this.#heartbeat.start()
  }

  get isOpen(): boolean {
    return this.framing !== undefined
  }

  stop(): void {
    this.#heartbeat.stop()
  }

  fail(error: Hal0Error): void {
    this.stop()
    const { dialect, id, res } = this.#exchange
    const body: ErrorEventBody = errorEventBody(error, id, dialect)
    this.#send(createEventFilter({ dialect, askedName: '', dropsUsageChunk: false }).errorEvent(body))
    res.end(this.framing === 'chunked' ? LAST_CHUNK : undefined)
  }

  #send(bytes: Buffer): void {
    const { res } = this.#exchange
    if (this.framing === undefined) {
      const lines = ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-cache', 'X-Accel-Buffering', 'no']
      this.framing = beginFraming(this.#exchange, 200, lines)
    }
    this.#exchange.bytesSent += bytes.length
    res.write(this.framing === 'chunked' ? framed(bytes) : bytes)
  }
}

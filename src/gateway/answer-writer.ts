import type { ErrorBody } from '../contract/error-body.ts'
import { type AnswerFilter, NOTHING, untouched } from './answer-filter.ts'
import type { Exchange } from './exchange.ts'
import { createJsonFilter } from './json-filter.ts'
import { type AnswerMode, chooseAnswerMode } from './rules/choose-answer-mode.ts'
import { clientResponseHeaders, type HeaderBag } from './rules/headers.ts'
import { createSseFilter, type SseFilter } from './sse-filter.ts'

export interface AnswerWriterOptions {
  readonly askedName: string
  readonly aliasIsAsked: boolean
  /** Longest time without the client taking a byte while data waits, ms; 0 = none. */
  readonly clientStallMs: number
  /** The client takes no more for now: hold the engine back. */
  readonly onHold: () => void
  readonly onGo: () => void
}

/** Writes an engine's answer to the client: head, renamed bytes, backpressure, and an end that the client understands. */
export class AnswerWriter {
  readonly #exchange: Exchange
  readonly #options: AnswerWriterOptions
  #mode: AnswerMode = 'raw'
  #filter: AnswerFilter = untouched
  #events: SseFilter | undefined
  #status = 200
  #headers: HeaderBag = {}
  /** Mode `whole`: nothing has been sent yet. */
  #collected: Buffer[] = []
  #isHeld = false
  #isStopped = false

  constructor(exchange: Exchange, options: AnswerWriterOptions) {
    this.#exchange = exchange
    this.#options = options
  }

  get isEventStream(): boolean {
    return this.#mode === 'events'
  }

  /** The engine's status and headers are known. Nothing is committed to the client before this. */
  begin(status: number, headers: HeaderBag): void {
    const { askedName, aliasIsAsked } = this.#options
    const { res } = this.#exchange
    this.#status = status
    this.#headers = headers
    this.#mode = chooseAnswerMode({ status, headers, aliasIsAsked })
    if (this.#mode === 'events') this.#filter = this.#events = createSseFilter(askedName)
    else if (this.#mode !== 'raw') this.#filter = createJsonFilter(askedName)
    res.on('drain', () => this.#onDrain())
    res.on('timeout', () => this.#onTimeout())
    if (this.#mode === 'whole') return
    const length = this.#mode === 'raw' ? headers['content-length'] : undefined
    this.#setHead(typeof length === 'string' ? Number(length) : undefined)
    res.flushHeaders()
  }

  push(chunk: Buffer): void {
    if (this.#mode === 'whole') this.#collected.push(chunk)
    else this.#send(this.#filter.push(chunk))
  }

  /** The engine's answer is complete. */
  end(): void {
    const { res } = this.#exchange
    if (this.#mode === 'whole') {
      const [only] = this.#collected
      const all = this.#collected.length === 1 && only !== undefined ? only : Buffer.concat(this.#collected)
      const renamed = this.#filter.push(all)
      const rest = this.#filter.end()
      const body = rest.length === 0 ? renamed : Buffer.concat([renamed, rest])
      this.#setHead(body.length)
      this.#close(body)
    } else this.#close(this.#filter.end())
    if (!res.writableFinished) this.#watchClient()
  }

  /** An answer that has begun cannot be finished: a last event where the dialect has one, else the connection ends. */
  breakOff(body: ErrorBody): void {
    const { res } = this.#exchange
    if (this.#isStopped) return
    if (this.#events === undefined) {
      res.destroy()
      return
    }
    this.#close(this.#events.errorEvent(body))
    if (!res.writableFinished) this.#watchClient()
  }

  /** The client is gone. */
  stop(): void {
    this.#isStopped = true
    this.#collected = []
  }

  #setHead(lengthBytes: number | undefined): void {
    const { res } = this.#exchange
    for (const [name, value] of Object.entries(clientResponseHeaders(this.#headers))) res.setHeader(name, value)
    if (lengthBytes !== undefined) res.setHeader('Content-Length', lengthBytes)
    if (this.#mode === 'events') {
      // Proxies with default settings would collect the stream.
      res.setHeader('X-Accel-Buffering', 'no')
      if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'no-cache')
    }
    res.statusCode = this.#status
  }

  #send(bytes: Buffer): void {
    if (bytes.length === 0 || this.#isStopped) return
    this.#exchange.bytesSent += bytes.length
    if (this.#exchange.res.write(bytes) || this.#isHeld) return
    this.#isHeld = true
    this.#watchClient()
    this.#options.onHold()
  }

  #close(bytes: Buffer): void {
    const { res } = this.#exchange
    this.#isHeld = false
    this.#exchange.bytesSent += bytes.length
    res.end(bytes.length === 0 ? NOTHING : bytes)
  }

  /** Node's socket time-out counts as life what the client takes of a large write. */
  #watchClient(): void {
    if (this.#options.clientStallMs > 0) this.#exchange.res.setTimeout(this.#options.clientStallMs)
  }

  #onDrain(): void {
    if (!this.#isHeld || this.#isStopped) return
    this.#isHeld = false
    this.#exchange.res.setTimeout(0)
    this.#options.onGo()
  }

  #onTimeout(): void {
    const { res, facts } = this.#exchange
    if (!this.#isHeld && !res.writableEnded) return
    facts.failure ??= 'client_stalled'
    // The rest follows from the closed connection, as with any client that leaves.
    res.destroy()
  }
}

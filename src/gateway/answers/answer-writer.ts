import type { ErrorBody } from '../../contract/error-body.ts'
import type { Exchange } from '../exchange.ts'
import { type AnswerMode, chooseAnswerMode, WHOLE_LIMIT_BYTES } from '../rules/choose-answer-mode.ts'
import { clientResponseHeaders, type HeaderBag } from '../rules/headers.ts'
import { type AnswerFilter, NOTHING, untouched } from './answer-filter.ts'
import { type ClientStallGuard, createClientStallGuard, takenBytesOf } from './client-stall.ts'
import { createJsonFilter, type JsonFilter } from './json-filter.ts'
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

/** How an engine's answer ended. Only `sent` has been told to the client; the rest is the caller's to tell. */
export type AnswerEnd =
  | { readonly kind: 'sent' }
  /** The engine ended cleanly, but what it sent is no complete answer. */
  | { readonly kind: 'broken'; readonly why: string; readonly sample?: string }
  | { readonly kind: 'engine_error'; readonly status: number; readonly headers: HeaderBag; readonly body: string }

const SENT: AnswerEnd = { kind: 'sent' }
/** Longest part of an engine's error that is read. */
const ERROR_LIMIT_BYTES = 64 * 1024
/** Enough of an answer that nobody asked for to recognise it by. */
const UNFIT_LIMIT_BYTES = 512
const SAMPLE_CHARS = 120

/** Writes an engine's answer to the client: head, renamed bytes, backpressure, and an end that the client understands. */
export class AnswerWriter {
  readonly #exchange: Exchange
  readonly #options: AnswerWriterOptions
  readonly #stallGuard: ClientStallGuard
  #mode: AnswerMode = 'raw'
  #filter: AnswerFilter = untouched
  #events: SseFilter | undefined
  #json: JsonFilter | undefined
  #status = 200
  #headers: HeaderBag = {}
  /** Modes `whole`, `error`, `unfit`: nothing has been sent yet. */
  #collected: Buffer[] = []
  #collectedBytes = 0
  #isHeld = false
  #isStopped = false

  constructor(exchange: Exchange, options: AnswerWriterOptions) {
    this.#exchange = exchange
    this.#options = options
    this.#stallGuard = createClientStallGuard(
      exchange.clock,
      options.clientStallMs,
      () => takenBytesOf(exchange.req.socket),
      () => this.#onStall(),
    )
  }

  get isEventStream(): boolean {
    return this.#mode === 'events'
  }

  /** The status says all that matters; a body that breaks off changes nothing. */
  get isError(): boolean {
    return this.#mode === 'error'
  }

  /** The engine's status and headers are known. Nothing is committed to the client before this. */
  begin(status: number, headers: HeaderBag): void {
    const { askedName, aliasIsAsked } = this.#options
    const { res } = this.#exchange
    this.#status = status
    this.#headers = headers
    this.#mode = chooseAnswerMode({ status, headers, aliasIsAsked })
    if (this.#mode === 'error' || this.#mode === 'unfit') return
    res.on('drain', () => this.#onDrain())
    res.once('close', () => this.#stallGuard.rest())
    if (this.#mode === 'events') this.#filter = this.#events = createSseFilter(askedName)
    else if (this.#mode !== 'raw') this.#filter = this.#json = createJsonFilter(askedName)
    if (this.#mode === 'whole') return
    const length = this.#mode === 'raw' ? headers['content-length'] : undefined
    this.#setHead(typeof length === 'string' ? Number(length) : undefined)
    res.flushHeaders()
  }

  /** False = enough: the rest of the answer is of no interest. */
  push(chunk: Buffer): boolean {
    if (this.#mode === 'raw' || this.#mode === 'events' || this.#mode === 'json') {
      this.#send(this.#filter.push(chunk))
      return true
    }
    this.#collected.push(chunk)
    this.#collectedBytes += chunk.length
    if (this.#mode === 'error') return this.#collectedBytes < ERROR_LIMIT_BYTES
    if (this.#mode === 'unfit') return this.#collectedBytes < UNFIT_LIMIT_BYTES
    if (this.#collectedBytes > WHOLE_LIMIT_BYTES) this.#streamOn()
    return true
  }

  /** The engine's answer is over. */
  end(): AnswerEnd {
    switch (this.#mode) {
      case 'error':
        return { kind: 'engine_error', status: this.#status, headers: this.#headers, body: this.#text() }
      case 'unfit':
        return this.#brokenAs(this.#collectedBytes === 0 ? 'without a body' : 'with something else than JSON or events')
      case 'whole':
        return this.#endWhole()
      case 'events':
        if (this.#events?.isComplete() === false) return { kind: 'broken', why: 'with an unfinished stream' }
        break
      case 'json':
        if (this.#json?.isComplete() === false) return { kind: 'broken', why: 'with broken JSON' }
        break
      case 'raw':
    }
    this.#close(this.#filter.end())
    return SENT
  }

  /** An answer that has begun cannot be finished: a last event where the dialect has one, else the connection ends. */
  breakOff(body: ErrorBody): void {
    const { res } = this.#exchange
    if (this.#isStopped) return
    if (this.#events === undefined) res.destroy()
    else this.#close(this.#events.errorEvent(body))
  }

  /** The client is gone. */
  stop(): void {
    this.#isStopped = true
    this.#stallGuard.rest()
    this.#collected = []
  }

  #endWhole(): AnswerEnd {
    const [only] = this.#collected
    const all = this.#collected.length === 1 && only !== undefined ? only : Buffer.concat(this.#collected)
    if (all.length === 0) return this.#brokenAs('without a body')
    const renamed = this.#filter.push(all)
    const rest = this.#filter.end()
    // The scanner is stricter than JSON.parse in depth and names; it alone does not condemn an answer.
    if (this.#json?.isComplete() === false && !parses(all)) return this.#brokenAs('with broken JSON')
    const body = rest.length === 0 ? renamed : Buffer.concat([renamed, rest])
    this.#setHead(body.length)
    this.#close(body)
    return SENT
  }

  /** Too long to be collected: what there is goes out, and the rest as it comes. */
  #streamOn(): void {
    const collected = Buffer.concat(this.#collected)
    this.#collected = []
    this.#mode = 'json'
    this.#setHead(undefined)
    this.#send(this.#filter.push(collected))
  }

  #brokenAs(why: string): AnswerEnd {
    const type = this.#headers['content-type']
    const named = type === undefined ? '' : ` (Content-Type: ${String(type)})`
    return { kind: 'broken', why: `${why}${named}`, sample: this.#text().slice(0, SAMPLE_CHARS) }
  }

  #text(): string {
    return Buffer.concat(this.#collected).toString('utf8')
  }

  #setHead(lengthBytes: number | undefined): void {
    const { res } = this.#exchange
    for (const [name, value] of Object.entries(clientResponseHeaders(this.#headers))) {
      // What hal0 itself has to say (route, timing, request id) is not the engine's to change.
      if (!res.hasHeader(name)) res.setHeader(name, value)
    }
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
    this.#stallGuard.watch()
    this.#options.onHold()
  }

  #close(bytes: Buffer): void {
    const { res } = this.#exchange
    this.#isHeld = false
    this.#exchange.bytesSent += bytes.length
    res.end(bytes.length === 0 ? NOTHING : bytes)
    if (res.writableLength === 0) this.#stallGuard.rest()
    else this.#stallGuard.watch()
  }

  #onDrain(): void {
    if (!this.#isHeld || this.#isStopped) return
    this.#isHeld = false
    this.#stallGuard.rest()
    this.#options.onGo()
  }

  #onStall(): void {
    this.#exchange.facts.failure ??= 'client_stalled'
    // The rest follows from the closed connection, as with any client that leaves.
    this.#exchange.res.destroy()
  }
}

function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'))
    return true
  } catch {
    return false
  }
}

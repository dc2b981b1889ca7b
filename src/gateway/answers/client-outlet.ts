import type { Exchange } from '../exchange.ts'
import type { AnswerMode } from '../rules/choose-answer-mode.ts'
import { clientResponseHeaders, isEventStream } from '../rules/headers.ts'
import { type AnswerHead, valueOf } from '../wire/answer-head.ts'
import type { ClientStallGuard } from './client-stall.ts'
import { copyOut, copyWritten } from './copy-out.ts'
import { beginFraming, type Framing, framed, LAST_CHUNK } from './framing.ts'
import { watchClient } from './watch-client.ts'

/** Who gives the bytes, and hears how the client takes them. */
export interface ClientFlow {
  /** The client takes no more for now: hold the engine back. */
  hold(): void
  go(): void
}

/** JSON up to this length is written with its head in one go. */
const ONE_WRITE_BYTES = 32 * 1024
/** hal0's own word on these, in an event stream. */
const EVENT_HEADERS = new Set(['x-accel-buffering'])

/**
 * The way out to one client: head, framing, backpressure. Chunks are framed here and not by node, so that those of an engine can pass as
 * they are; what comes at once leaves in one write.
 */
export class ClientOutlet {
  readonly #exchange: Exchange
  readonly #clientStallMs: number
  readonly #flow: ClientFlow
  #stallGuard: ClientStallGuard | undefined
  #framing: Framing = 'length'
  #hasBody = true
  /** Framed, ready to leave. */
  #pending: Buffer[] = []
  #isHeadWritten = false
  #isHeld = false
  #isStopped = false

  /** `clientStallMs`: longest time without the client taking a byte while data waits; 0 = none. */
  constructor(exchange: Exchange, clientStallMs: number, flow: ClientFlow) {
    this.#exchange = exchange
    this.#clientStallMs = clientStallMs
    this.#flow = flow
  }

  get isChunked(): boolean {
    return this.#framing === 'chunked'
  }

  /** The client takes no more for now. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** The head of an answer that streams. */
  begin(head: AnswerHead, mode: AnswerMode): void {
    const { res } = this.#exchange
    res.on('drain', this.#onDrain)
    const isStream = mode === 'events' || isEventStream(head.contentType)
    const lines = [...headersOf(head, isStream)]
    // Proxies with default settings would collect the stream.
    if (isStream) {
      lines.push('X-Accel-Buffering', 'no')
      if (valueOf(head.lines, 'cache-control') === undefined) lines.push('Cache-Control', 'no-cache')
    }
    const { framing } = head
    this.#hasBody = framing.kind !== 'none'
    if (mode === 'raw' && framing.kind === 'length') {
      lines.push('Content-Length', String(framing.bytes))
    } else if (framing.kind === 'none') {
      const length = valueOf(head.lines, 'content-length')
      if (length !== undefined && head.status !== 204) lines.push('Content-Length', length)
    } else {
      this.#framing = beginFraming(this.#exchange, head.status, lines)
      return
    }
    this.#exchange.writeHead(head.status, lines)
  }

  /** The head has been sent already. */
  goOn(framing: Framing): void {
    this.#framing = framing
    this.#isHeadWritten = true
    this.#exchange.res.on('drain', this.#onDrain)
  }

  /** A whole answer with its length. */
  sendWhole(head: AnswerHead, body: Buffer): void {
    const { res } = this.#exchange
    this.#exchange.writeHead(head.status, [...headersOf(head, false), 'Content-Length', String(body.length)])
    this.#isHeadWritten = true
    this.#exchange.bytesSent += body.length
    if (body.length <= ONE_WRITE_BYTES) {
      // As a text it goes into one write with the head; `end` with a text would send an empty one behind it, and both as a list.
      res.write(body.toString('latin1'), 'latin1')
      res.socket?.uncork()
      res.end()
    } else res.end(body)
    if (res.writableLength > 0) this.#guard().watch()
  }

  /** Bytes of the answer, valid for this call only; they leave at the next `flush`. */
  send(data: Buffer): void {
    if (data.length === 0 || this.#isStopped) return
    this.#exchange.bytesSent += data.length
    this.#pending.push(this.#framing === 'chunked' ? framed(data) : copyOut(data))
  }

  /** The same for whole chunks with their framing. */
  sendChunks(chunks: Buffer): void {
    if (this.#isStopped) return
    this.#exchange.bytesSent += chunks.length
    this.#pending.push(copyOut(chunks))
  }

  flush(): void {
    if (this.#isStopped) return
    const { res } = this.#exchange
    const bytes = this.#takePending()
    if (bytes === undefined) {
      if (this.#isHeadWritten || !res.headersSent) return
      this.#isHeadWritten = true
      return res.flushHeaders()
    }
    this.#isHeadWritten = true
    const hasRoom = res.write(bytes)
    // Node waits for more that could go with it until the turn is over; there is nothing.
    res.socket?.uncork()
    // What the kernel has taken at once does not wait, however much it was.
    if (res.writableLength === 0) return copyWritten(bytes)
    if (hasRoom || this.#isHeld) return
    this.#isHeld = true
    this.#guard().watch()
    this.#flow.hold()
  }

  /** The last bytes, and the end. */
  end(data: Buffer): void {
    if (this.#isStopped) return
    const { res } = this.#exchange
    this.send(data)
    const pieces = this.#pending
    this.#pending = []
    this.#isHeld = false
    this.#isStopped = true
    // One write of several pieces: to join them would cost a copy of an answer that came at once.
    for (const piece of pieces) res.write(piece)
    if (this.#framing === 'chunked' && this.#hasBody) res.end(LAST_CHUNK)
    else res.end()
    if (res.writableLength > 0) return this.#guard().watch()
    for (const piece of pieces) copyWritten(piece)
    this.#stallGuard?.rest()
  }

  /** The answer cannot be finished: the connection ends. */
  cut(): void {
    this.#exchange.res.destroy()
  }

  /** The client is gone. */
  stop(): void {
    this.#isStopped = true
    this.#pending = []
    this.#stallGuard?.rest()
  }

  #takePending(): Buffer | undefined {
    const pending = this.#pending
    if (pending.length === 0) return undefined
    this.#pending = []
    return pending.length === 1 ? pending[0] : Buffer.concat(pending)
  }

  #guard(): ClientStallGuard {
    this.#stallGuard ??= watchClient(this.#exchange, this.#clientStallMs)
    return this.#stallGuard
  }

  readonly #onDrain = (): void => {
    if (!this.#isHeld || this.#isStopped) return
    this.#isHeld = false
    this.#stallGuard?.rest()
    this.#flow.go()
  }
}

/** What of a head reaches clients; engines say the same again and again. */
const known = {
  plain: new WeakMap<AnswerHead, readonly string[]>(),
  stream: new WeakMap<AnswerHead, readonly string[]>(),
}

function headersOf(head: AnswerHead, isStream: boolean): readonly string[] {
  const cache = isStream ? known.stream : known.plain
  const before = cache.get(head)
  if (before !== undefined) return before
  const lines = clientResponseHeaders(head.lines, isStream ? EVENT_HEADERS : undefined)
  cache.set(head, lines)
  return lines
}

import type { ApiDialect } from '../../contract/api-dialect.ts'
import type { AnswerPlan } from '../engine-request.ts'
import type { Exchange } from '../exchange.ts'
import { type AnswerMode, chooseAnswerMode, chooseMediaMode, WHOLE_LIMIT_BYTES } from '../rules/choose-answer-mode.ts'
import { readUsage } from '../rules/read-usage.ts'
import type { AnswerHead } from '../wire/answer-head.ts'
import { type AnswerFilter, NOTHING, untouched } from './answer-filter.ts'
import { type ClientFlow, ClientOutlet } from './client-outlet.ts'
import { createHeartbeat, type Heartbeat } from './heartbeat.ts'
import { createJsonFilter, type JsonFilter, renameWhole } from './json-filter.ts'
import { createEventFilter, type PlacedEventFilter } from './sse-filter.ts'
import { TAIL_BYTES, TailKeeper } from './tail-keeper.ts'

/** How an answer is written. */
export interface AnswerWriterOptions {
  /** The engine knows its model by the very name that was asked for. */
  readonly aliasIsAsked: boolean
  /** Longest time without the client taking a byte while data waits, ms; 0 = none. */
  readonly clientStallMs: number
}

/** How an engine's answer ended. Only `sent` has been told to the client; the rest is the caller's to tell. */
export type AnswerEnd =
  | { readonly kind: 'sent' }
  /** The engine ended cleanly, but what it sent is no complete answer. */
  | { readonly kind: 'broken'; readonly why: string; readonly sample?: string }
  | { readonly kind: 'engine_error'; readonly head: AnswerHead; readonly body: string }

const SENT: AnswerEnd = { kind: 'sent' }
/** Longest part of an engine's error that is read. */
const ERROR_LIMIT_BYTES = 64 * 1024
/** Enough of an answer that nobody asked for to recognise it by. */
const UNFIT_LIMIT_BYTES = 512
const SAMPLE_CHARS = 120
/** Enough of the beginning of a JSON answer to find what it says of usage. */
const HEAD_BYTES = 1024

/** What was chosen for a head of a `told` answer; engines say the same again and again. */
const knownModes = { asked: new WeakMap<AnswerHead, AnswerMode>(), other: new WeakMap<AnswerHead, AnswerMode>() }

/** Turns an engine's answer into the client's: head, renamed bytes, and an end that the client understands. */
export class AnswerWriter {
  readonly #exchange: Exchange
  readonly #plan: AnswerPlan
  readonly #aliasIsAsked: boolean
  readonly #out: ClientOutlet
  #mode: AnswerMode = 'raw'
  #filter: AnswerFilter = untouched
  #events: PlacedEventFilter | undefined
  #json: JsonFilter | undefined
  #tail: TailKeeper | undefined
  #heartbeat: Heartbeat | undefined
  #head: AnswerHead | undefined
  /** Modes `whole`, `error`, `unfit`: nothing has been sent yet. */
  #collected: Buffer[] = []
  #collectedBytes = 0
  #isStopped = false

  constructor(exchange: Exchange, plan: AnswerPlan, options: AnswerWriterOptions, flow: ClientFlow) {
    this.#exchange = exchange
    this.#plan = plan
    this.#aliasIsAsked = options.aliasIsAsked
    this.#out = new ClientOutlet(exchange, options.clientStallMs, flow)
  }

  get isEventStream(): boolean {
    return this.#mode === 'events'
  }

  /** The status says all that matters; a body that breaks off changes nothing. */
  get isError(): boolean {
    return this.#mode === 'error'
  }

  /** The engine has said all, however its connection ended. */
  get hasLastEvent(): boolean {
    return this.#events?.hasLastEvent(this.#tail?.bytes() ?? NOTHING) === true
  }

  /** Whole chunks of HTTP need not be taken apart. */
  get takesChunks(): boolean {
    return this.#out.isChunked && (this.#mode === 'raw' || this.#events?.isPassive === true)
  }

  /** The engine's status and headers are known. Nothing is committed to the client before this. */
  begin(head: AnswerHead): void {
    const plan = this.#plan
    this.#head = head
    const { early } = this.#exchange
    early?.stop()
    const isOpen = early?.isOpen === true
    const chosen = this.#modeOf(head)
    // What was begun as an event stream cannot become anything else.
    const mode = isOpen && chosen !== 'events' && chosen !== 'error' ? 'unfit' : chosen
    this.#mode = mode
    if (mode === 'error' || mode === 'unfit') return
    this.#exchange.early = undefined
    if (plan.kind !== 'raw' && (mode === 'events' || mode === 'json')) {
      if (mode === 'events') {
        this.#filter = this.#events = createEventFilter({ dropsUsageChunk: false, ...plan })
        this.#beat(plan.dialect)
      } else this.#filter = this.#json = createJsonFilter(plan.askedName)
      this.#tail = new TailKeeper()
      this.#keepUsage(plan.dialect)
    }
    if (isOpen && early?.framing !== undefined) this.#out.goOn(early.framing)
    else if (mode !== 'whole') this.#out.begin(head, mode)
  }

  /** Payload of the engine's answer, valid for this call only. False = enough: the rest is of no interest. */
  push(data: Buffer): boolean {
    if (this.#isStopped) return true
    const mode = this.#mode
    if (mode === 'raw' || mode === 'events' || mode === 'json') {
      // Filters keep what is not whole yet.
      const out = this.#filter === untouched ? data : this.#filter.push(Buffer.from(data))
      this.#tail?.push(out)
      this.#out.send(out)
      return true
    }
    this.#collected.push(Buffer.from(data))
    this.#collectedBytes += data.length
    if (mode === 'error') return this.#collectedBytes < ERROR_LIMIT_BYTES
    if (mode === 'unfit') return this.#collectedBytes < UNFIT_LIMIT_BYTES
    if (this.#collectedBytes > WHOLE_LIMIT_BYTES) this.#streamOn()
    return true
  }

  /** Whole chunks with their framing; only while `takesChunks`. */
  pushChunks(chunks: Buffer): void {
    if (this.#isStopped) return
    // The line break behind a chunk is not one of the stream.
    this.#events?.passed(chunks.subarray(0, chunks.length - 2))
    this.#tail?.push(chunks)
    this.#out.sendChunks(chunks)
  }

  /** What has come at once goes out at once. */
  flush(): void {
    this.#heartbeat?.touched()
    this.#out.flush()
  }

  /** The engine's answer is over. */
  end(): AnswerEnd {
    this.#heartbeat?.stop()
    switch (this.#mode) {
      case 'error':
        return this.#head === undefined ? SENT : { kind: 'engine_error', head: this.#head, body: this.#text() }
      case 'unfit':
        return this.#brokenAs(this.#collectedBytes === 0 ? 'without a body' : 'with something else than JSON or events')
      case 'whole':
        return this.#endWhole()
      case 'events': {
        const rest = this.#filter.end()
        this.#tail?.push(rest)
        // Half an event would cost the client the error that follows.
        // Of what tells sounds it is not known how it ends.
        if (this.#plan.kind === 'told' && this.#events?.isComplete(this.#tail?.bytes() ?? NOTHING) === false) {
          return { kind: 'broken', why: 'with an unfinished stream' }
        }
        this.#out.end(this.#events?.finished(rest) ?? rest)
        return SENT
      }
      case 'json':
        if (this.#json?.isComplete() === false) return { kind: 'broken', why: 'with broken JSON' }
        break
      case 'raw':
    }
    this.#out.end(this.#filter.end())
    return SENT
  }

  /** An answer that has begun cannot be finished: a last event where the dialect has one, else the connection ends. */
  breakOff(error: object): void {
    this.#heartbeat?.stop()
    if (this.#isStopped) return
    if (this.#events === undefined) this.#out.cut()
    else this.#out.end(this.#events.errorEvent(error))
  }

  /** The client is gone. */
  stop(): void {
    this.#isStopped = true
    this.#heartbeat?.stop()
    this.#out.stop()
    this.#collected = []
  }

  #modeOf(head: AnswerHead): AnswerMode {
    const plan = this.#plan
    if (plan.kind === 'raw') return 'raw'
    const known = this.#aliasIsAsked ? knownModes.asked : knownModes.other
    const before = plan.kind === 'told' ? known.get(head) : undefined
    if (before !== undefined) return before
    const { status, framing, contentType, contentEncoding } = head
    const facts = {
      status,
      contentType,
      contentEncoding,
      lengthBytes: framing.kind === 'length' ? framing.bytes : framing.kind === 'none' ? 0 : undefined,
    }
    if (plan.kind === 'media') return chooseMediaMode(facts)
    const mode = chooseAnswerMode({ ...facts, aliasIsAsked: this.#aliasIsAsked })
    known.set(head, mode)
    return mode
  }

  #endWhole(): AnswerEnd {
    const [only] = this.#collected
    const all = this.#collected.length === 1 && only !== undefined ? only : Buffer.concat(this.#collected)
    if (all.length === 0 || this.#plan.kind !== 'told') return this.#brokenAs('without a body')
    const { askedName, dialect } = this.#plan
    const renamed = renameWhole(all, askedName)
    if (renamed === undefined) return this.#brokenAs('with broken JSON')
    const isShort = all.length <= TAIL_BYTES
    // Pooled answers tell their usage first.
    const head = isShort ? NOTHING : Buffer.from(all.subarray(0, HEAD_BYTES))
    const tail = isShort ? all : Buffer.from(all.subarray(all.length - TAIL_BYTES))
    this.#exchange.facts.usage = () => readUsage(dialect, head, tail)
    if (this.#head !== undefined) this.#out.sendWhole(this.#head, renamed)
    return SENT
  }

  /** Too long to be collected: what there is goes out, and the rest as it comes. */
  #streamOn(): void {
    if (this.#plan.kind !== 'told' || this.#head === undefined) return
    const collected = Buffer.concat(this.#collected)
    this.#collected = []
    this.#mode = 'json'
    this.#filter = this.#json = createJsonFilter(this.#plan.askedName)
    this.#tail = new TailKeeper()
    this.#keepUsage(this.#plan.dialect, Buffer.from(collected.subarray(0, HEAD_BYTES)))
    this.#out.begin(this.#head, 'json')
    this.push(collected)
  }

  #keepUsage(dialect: ApiDialect, head: Buffer = NOTHING): void {
    const events = this.#events
    const tail = this.#tail
    this.#exchange.facts.usage = () => readUsage(dialect, events?.head ?? head, tail?.bytes() ?? NOTHING)
  }

  #beat(dialect: ApiDialect): void {
    const { heartbeatMs, clock } = this.#exchange
    if (heartbeatMs === undefined) return
    const send = (bytes: Buffer): void => {
      this.#out.send(bytes)
      this.#out.flush()
    }
    const isBetweenEvents = (): boolean => this.#events?.isBetweenEvents === true && !this.#out.isHeld
    this.#heartbeat = createHeartbeat(clock, heartbeatMs, send, { dialect, isBetweenEvents })
    this.#heartbeat.start()
  }

  #brokenAs(why: string): AnswerEnd {
    const type = this.#head?.contentType
    const named = type === undefined ? '' : ` (Content-Type: ${type})`
    return { kind: 'broken', why: `${why}${named}`, sample: this.#text().slice(0, SAMPLE_CHARS) }
  }

  #text(): string {
    return Buffer.concat(this.#collected).toString('utf8')
  }
}

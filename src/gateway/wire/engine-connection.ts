import { connect, type Socket } from 'node:net'
import type { BodySink, EngineBody } from '../body/engine-body.ts'
import { type AnswerHead, HEAD_LIMIT_BYTES, parseHead } from './answer-head.ts'
import { ChunkReader, type ChunkTaker } from './chunk-reader.ts'

/** Follows one request at an engine. Calls come in this order; after `onEnd` or `onError` there are none. */
export interface ExchangeFollower extends ChunkTaker {
  /** The request is about to be written. False = it shall not be: nothing has been sent, nothing more is called. */
  onSend(): boolean
  onHead(head: AnswerHead): void
  /** Everything that came at once has been handed over. */
  onPause(): void
  /** The answer is complete. `mayReuse`: the connection could serve another request. */
  onEnd(mayReuse: boolean): void
  /** The connection ended, or what came is no HTTP. */
  onError(error: Error): void
}

/** A request as it is written. */
export interface WireRequest {
  readonly method: string
  readonly path: string
  /** Names and values in turn; those of the connection itself (`host`, length, coding) are put in here. */
  readonly headers: readonly string[]
  readonly body: EngineBody
}

/** Where an engine listens. */
export interface EngineAddress {
  readonly host: string
  readonly port: number
  /** As it stands in `Host`. */
  readonly hostHeader: string
}

/** `http://HOST:PORT`, taken apart. */
export function addressOf(origin: string): EngineAddress {
  const { hostname, port, host } = new URL(origin)
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host: bare, port: Number(port === '' ? 80 : port), hostHeader: host }
}

/** An engine ended its connection in the middle of something. */
class ConnectionLost extends Error {}

/** Read into by every connection in turn: what is to outlive the call is copied. */
const READ_BYTES = 64 * 1024
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES)
/** A body up to this size is written together with the head. */
const ONE_WRITE_BYTES = 16 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * One connection to an engine, used by one request at a time: HTTP/1.1, strict, with nothing that waits in a queue and no time limits of its
 * own; the lease has already decided how many may be under way. Source: SPEC 11 "Retries", "No client library default may cut a slow prefill".
 */
export class EngineConnection implements BodySink {
  readonly attemptId: string
  readonly #socket: Socket
  readonly #hostHeader: string
  readonly #onEnd: (connection: EngineConnection) => void
  #follower: ExchangeFollower | undefined
  #method = ''
  #isConnected = false
  #request: WireRequest | undefined
  #head: AnswerHead | undefined
  #headBytes: Buffer = NOTHING
  #bodyLeft = 0
  #chunks: ChunkReader | undefined
  #live: { resume(): void; stop(): void } | undefined
  #isLiveChunked = false
  #isBodySent = true
  #bytesBefore = 0
  #requests = 0
  /** Behind the end of the connection stood a reset: `#lookAtEnd`. */
  #wasReset = false
  /** Its end has been seen, from whichever side. */
  hasEnded = false
  /** Monotonic time at which it was given back. */
  idleSinceMs = 0
  /** Its last request was answered by a stream. */
  didStream = false
  #gone: Promise<void> | undefined
  #isGone = false

  /** Connects at once. `onEnd`: its end has been seen. */
  constructor(address: EngineAddress, attemptId: string, onEnd: (connection: EngineConnection) => void) {
    this.attemptId = attemptId
    this.#onEnd = onEnd
    this.#hostHeader = address.hostHeader
    const socket = connect({
      host: address.host,
      port: address.port,
      noDelay: true,
      onread: { buffer: readBuffer, callback: (size) => this.#read(readBuffer.subarray(0, size)) },
    })
    this.#socket = socket
    socket.once('connect', () => {
      this.#isConnected = true
      this.#write()
    })
    // First of all listeners: node writes no more after them.
    socket.prependListener('end', () => this.#lookAtEnd())
    socket.on('error', (error) => this.#lose(error))
    socket.once('close', () => {
      this.#isGone = true
      this.#lose(new ConnectionLost('the connection was closed'))
    })
    socket.on('drain', () => this.#live?.resume())
    socket.resume()
  }

  /** Has nothing come from the engine since the request was written? */
  get isSilent(): boolean {
    return this.#socket.bytesRead === this.#bytesBefore
  }

  /**
   * Did the connection end before the engine had read the whole request? The kernel resets one whose process goes with bytes unread or is
   * gone when they come, and ends it in good order otherwise. An engine may also reset on purpose: proof it is only for one that has died.
   */
  wasResetUnread(error: Error): boolean {
    const isReset = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
    return this.isSilent && (isReset || this.#wasReset)
  }

  /**
   * Had the engine ended the connection in good order before this request came to it? Only said of one on which an earlier request was answered: an
   * engine that resets a connection outright may have read the request.
   */
  get cameTooLate(): boolean {
    return this.#requests > 1 && this.#wasReset && this.isSilent
  }

  /** Sends a request. Only when the one before has ended with `mayReuse`. */
  send(request: WireRequest, follower: ExchangeFollower): void {
    this.#follower = follower
    this.#request = request
    this.#method = request.method
    this.#requests++
    if (this.hasEnded) return void queueMicrotask(() => this.#lose(new ConnectionLost('the connection was closed')))
    if (this.#isConnected) this.#write()
  }

  /** No more bytes of the answer for now. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Resolves when the connection is gone. Nothing more is told to whoever follows a request on it. */
  destroy(): Promise<void> {
    this.#follower = undefined
    this.#live?.stop()
    if (this.#isGone) return Promise.resolve()
    this.#gone ??= new Promise((resolve) => this.#socket.once('close', () => resolve()))
    this.#socket.destroy()
    return this.#gone
  }

  // The body that is sent while it arrives.

  write(piece: Buffer): boolean {
    if (this.#follower === undefined) return false
    if (!this.#isLiveChunked) return this.#socket.write(piece)
    this.#socket.cork()
    this.#socket.write(`${piece.length.toString(16)}\r\n`, 'latin1')
    this.#socket.write(piece)
    const isTaken = this.#socket.write('\r\n', 'latin1')
    this.#socket.uncork()
    return isTaken
  }

  end(): void {
    this.#isBodySent = true
    this.#live = undefined
    if (this.#follower !== undefined && this.#isLiveChunked) this.#socket.write('0\r\n\r\n', 'latin1')
  }

  fail(error: unknown): void {
    this.#live = undefined
    this.#lose(error instanceof Error ? error : new Error(String(error)))
  }

  #write(): void {
    const request = this.#request
    if (request === undefined || this.#follower === undefined) return
    this.#request = undefined
    this.#wasReset = false
    this.#head = undefined
    this.#bytesBefore = this.#socket.bytesRead
    if (!this.#follower.onSend()) return
    const { body } = request
    this.#isLiveChunked = body.kind === 'live' && body.body.sizeBytes === undefined
    const head = headText(request, this.#hostHeader, this.#isLiveChunked)
    if (body.kind === 'whole' && body.sizeBytes <= ONE_WRITE_BYTES) {
      const bytes = Buffer.allocUnsafe(head.length + body.sizeBytes)
      let at = bytes.write(head, 0, 'latin1')
      for (const piece of body.pieces) at += piece.copy(bytes, at)
      this.#socket.write(bytes)
    } else {
      this.#socket.cork()
      this.#socket.write(head, 'latin1')
      if (body.kind === 'whole') for (const piece of body.pieces) this.#socket.write(piece)
      this.#socket.uncork()
    }
    if (body.kind !== 'live') return
    this.#isBodySent = false
    this.#live = body.body
    body.body.start(this)
  }

  /** False = the socket is to be paused; never here, that is for whoever follows. */
  #read(bytes: Buffer): boolean {
    const follower = this.#follower
    if (follower === undefined) {
      // An engine that speaks without being asked is not to be understood.
      if (bytes.length > 0) this.#socket.destroy()
      return true
    }
    try {
      const at = this.#head === undefined ? this.#readHead(bytes, follower) : this.#readBody(bytes, 0, follower)
      if (at !== undefined && this.#follower === follower) follower.onPause()
    } catch (error) {
      this.#lose(error instanceof Error ? error : new Error(String(error)))
      this.#socket.destroy()
    }
    return true
  }

  #readHead(bytes: Buffer, follower: ExchangeFollower): number | undefined {
    let all = this.#headBytes.length === 0 ? bytes : Buffer.concat([this.#headBytes, bytes])
    for (;;) {
      const end = all.indexOf('\r\n\r\n', 0, 'latin1')
      if (end < 0 || end > HEAD_LIMIT_BYTES) {
        if (all.length > HEAD_LIMIT_BYTES) return this.#fault('an answer with an endless head')
        // What will never be HTTP need not be waited for.
        if (!'HTTP/1.'.startsWith(all.toString('latin1', 0, 7)))
          return this.#fault('an answer that does not begin as HTTP')
        this.#headBytes = Buffer.from(all)
        return undefined
      }
      const head = parseHead(all.toString('latin1', 0, end), this.#method)
      this.#headBytes = NOTHING
      if (typeof head === 'string') return this.#fault(head)
      all = all.subarray(end + 4)
      if (head.status === 101) return this.#fault('a change of protocol that nobody asked for')
      if (head.status < 200) continue
      this.#head = head
      const { framing } = head
      this.#bodyLeft =
        framing.kind === 'length' ? framing.bytes : framing.kind === 'none' ? 0 : Number.POSITIVE_INFINITY
      this.#chunks = framing.kind === 'chunked' ? new ChunkReader() : undefined
      follower.onHead(head)
      if (this.#follower !== follower) return undefined
      return this.#readBody(all, 0, follower)
    }
  }

  #readBody(bytes: Buffer, from: number, follower: ExchangeFollower): number | undefined {
    if (this.#chunks !== undefined) {
      if (bytes.length === 0) return 0
      const step = this.#chunks.push(bytes, follower)
      if (this.#follower !== follower) return undefined
      if (typeof step === 'string') return this.#fault(step)
      if (step.kind === 'more') return 0
      return this.#complete(bytes.length === step.at)
    }
    const left = this.#bodyLeft
    const data = bytes.length - from > left ? bytes.subarray(from, from + left) : bytes.subarray(from)
    this.#bodyLeft -= data.length
    if (data.length > 0) follower.onData(data)
    if (this.#follower !== follower) return undefined
    if (this.#bodyLeft > 0) return 0
    return this.#complete(bytes.length - from === data.length)
  }

  /** `isClean`: nothing follows. */
  #complete(isClean: boolean): undefined {
    const follower = this.#follower
    // An engine that answered before it had its request may never read the rest of it.
    const isRequestSent = this.#isBodySent && this.#socket.writableLength === 0
    const mayReuse = isClean && this.#head?.keepsAlive === true && isRequestSent && !this.hasEnded
    this.#follower = undefined
    this.#live?.stop()
    this.#live = undefined
    follower?.onEnd(mayReuse)
  }

  #fault(what: string): undefined {
    this.#lose(new ConnectionLost(what))
    this.#socket.destroy()
  }

  #lose(error: Error): void {
    const follower = this.#follower
    this.#follower = undefined
    this.#live?.stop()
    this.#live = undefined
    this.#noteEnd()
    if (follower === undefined) return
    this.#chunks?.giveUp(follower)
    follower.onError(error)
  }

  #noteEnd(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.#onEnd(this)
  }

  /**
   * An engine that ended before the request came leaves two things behind, the end of the connection and then the reset that answers the
   * request; reading tells of the end only. Writing tells of the reset: it is refused if the request was, and only then, since nothing else
   * was written. The empty line is for nobody: who ended the connection gives no answer.
   */
  #lookAtEnd(): void {
    this.#noteEnd()
    if (this.#follower !== undefined && this.#head?.framing.kind === 'close') return this.#complete(true)
    if (this.#follower === undefined || !this.isSilent || this.#request !== undefined)
      return void this.#socket.destroy()
    this.#socket.write('\r\n', (error) => {
      if (error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET')) this.#wasReset = true
      this.#socket.destroy()
    })
  }
}

function headText({ method, path, headers, body }: WireRequest, host: string, isChunked: boolean): string {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  if (isChunked) text += 'transfer-encoding: chunked\r\n'
  else if (body.kind === 'whole') text += `content-length: ${body.sizeBytes}\r\n`
  else if (body.kind === 'live') text += `content-length: ${body.body.sizeBytes}\r\n`
  return `${text}\r\n`
}

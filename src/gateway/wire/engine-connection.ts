import { connect, type Socket } from 'node:net'
import { AnswerReader, type AnswerTaker } from './answer-reader.ts'
import { RequestWriter, type WireRequest } from './request-writer.ts'

/** Follows one request at an engine. Calls come in this order; after `onEnd` or `onError` there are none. */
export interface ExchangeFollower extends AnswerTaker {
  /** The request is about to be written. False = it shall not be: nothing has been sent, nothing more is called. */
  onSend(): boolean
  /** Everything that came at once has been handed over. `hasBody`: something of the answer's body has come so far. */
  onPause(hasBody: boolean): void
  /** The answer is complete. `mayReuse`: the connection could serve another request. */
  onEnd(mayReuse: boolean): void
  /** The connection ended, what came is no HTTP, or the client's body came to nothing. */
  onError(error: Error): void
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
/** An engine that has ended its side takes the rest of a request within this time, or never. */
const LAST_LOOK_MS = 250

/**
 * One connection to an engine, used by one request at a time: HTTP/1.1, strict, with nothing that waits in a queue and no time limits of its
 * own; the lease has already decided how many may be under way. Source: SPEC 11 "Retries", "No client library default may cut a slow prefill".
 */
export class EngineConnection {
  readonly attemptId: string
  readonly #socket: Socket
  readonly #address: EngineAddress
  readonly #onEnd: (connection: EngineConnection) => void
  readonly #writer: RequestWriter
  #follower: ExchangeFollower | undefined
  #reader = new AnswerReader('')
  /** Waits for the connection. */
  #request: WireRequest | undefined
  #isConnected = false
  #bytesBefore = 0
  #requests = 0
  /** Behind the end of the connection stood a reset: `#lookAtEnd`. */
  #wasReset = false
  /** Its end has been seen, from whichever side. */
  hasEnded = false
  /** Monotonic time from which on it is no longer used. */
  idleUntilMs = 0
  /** Its last request was answered by a stream. */
  didStream = false
  #gone: Promise<void> | undefined
  #isGone = false

  /** Connects at once. `onEnd`: its end has been seen. */
  constructor(address: EngineAddress, attemptId: string, onEnd: (connection: EngineConnection) => void) {
    this.attemptId = attemptId
    this.#onEnd = onEnd
    this.#address = address
    const socket = connect({
      host: address.host,
      port: address.port,
      noDelay: true,
      onread: { buffer: readBuffer, callback: (size) => this.#read(readBuffer.subarray(0, size)) },
    })
    this.#socket = socket
    this.#writer = new RequestWriter(socket, (error) => this.#lose(error))
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
    socket.on('drain', () => this.#writer.resume())
    socket.resume()
  }

  /** How long the engine promised, with its last answer, to keep the connection unused, seconds; undefined = it does not say. */
  get keepsForS(): number | undefined {
    return this.#reader.keepsForS
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
    this.#requests++
    if (this.hasEnded) queueMicrotask(() => this.#lose(new ConnectionLost('the connection was closed')))
    else if (this.#isConnected) this.#write()
  }

  /** No more bytes of the answer for now. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Ends it, and tells whoever follows a request on it why. */
  abort(reason: Error): void {
    this.#lose(reason)
    this.#socket.destroy()
  }

  /** Resolves when the connection is gone. Nothing more is told to whoever follows a request on it. */
  destroy(): Promise<void> {
    this.#follower = undefined
    this.#writer.stop()
    if (this.#isGone) return Promise.resolve()
    this.#gone ??= new Promise((resolve) => this.#socket.once('close', () => resolve()))
    this.#socket.destroy()
    return this.#gone
  }

  #write(): void {
    const request = this.#request
    if (request === undefined || this.#follower === undefined) return
    this.#request = undefined
    this.#wasReset = false
    this.#reader = new AnswerReader(request.method)
    this.#bytesBefore = this.#socket.bytesRead
    if (this.#follower.onSend()) this.#writer.start(request, this.#address.hostHeader)
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
      const step = this.#reader.push(bytes, bytes.length === READ_BYTES, follower)
      // It may have been given up meanwhile.
      if (this.#follower !== follower) return true
      if (step.kind === 'more') {
        follower.onPause(this.#reader.hasBody)
        if (this.#reader.isHolding) setImmediate(this.#letGo, follower, this.#socket.bytesRead)
      } else if (step.kind === 'done') this.#complete(step.isClean)
      else this.abort(new ConnectionLost(step.what))
    } catch (error) {
      this.abort(error instanceof Error ? error : new Error(String(error)))
    }
    return true
  }

  /** The read was as long as a read can be, and yet nothing followed it. */
  readonly #letGo = (follower: ExchangeFollower, bytesRead: number): void => {
    if (this.#follower !== follower || this.#socket.bytesRead !== bytesRead) return
    this.#reader.letGo(follower)
    if (this.#follower === follower) follower.onPause(this.#reader.hasBody)
  }

  /** `isClean`: nothing follows. */
  #complete(isClean: boolean): void {
    const follower = this.#follower
    // An engine that answered before it had its request may never read the rest of it.
    const mayReuse = isClean && this.#reader.keepsAlive && this.#writer.isSent && !this.hasEnded
    this.#follower = undefined
    this.#writer.stop()
    follower?.onEnd(mayReuse)
  }

  #lose(error: Error): void {
    const follower = this.#follower
    this.#follower = undefined
    this.#writer.stop()
    this.#noteEnd()
    if (follower === undefined) return
    this.#reader.letGo(follower)
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
    if (this.#follower !== undefined && this.#reader.endsWithConnection) return this.#complete(true)
    if (this.#follower === undefined || !this.isSilent || this.#request !== undefined) {
      return void this.#socket.destroy()
    }
    // It may live on without ever reading the rest.
    this.#socket.setTimeout(LAST_LOOK_MS, () => this.#socket.destroy())
    this.#socket.write('\r\n', (error) => {
      if (error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET')) this.#wasReset = true
      this.#socket.destroy()
    })
  }
}

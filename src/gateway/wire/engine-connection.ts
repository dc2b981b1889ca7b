import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'

/** Idle connections are closed after so long: engines close theirs after 5 s (llama-server, uvicorn, node) or say how long in `Keep-Alive`. */
export const KEEP_ALIVE_MS = 800

/** Why a connection was ended from our side; made once, since it is part of every stream's ordinary end. */
export const CUT_OFF: Error = new Error('ended by the gateway')

/**
 * One connection to an engine, used by one request at a time. undici's own queue is never used: a request that waits in it cannot
 * be taken out, and the lease has already decided how many may be under way. A connection whose end we see before the request is
 * written is replaced by undici, which looks once more right before it writes.
 */
export class EngineConnection {
  readonly client: Client
  readonly attemptId: string
  #socket: Socket | undefined
  #bytesBefore = 0
  /** Behind the end of the connection stood a reset: `#lookAtEnd`. */
  #wasReset = false
  /** Its end has been seen since the last request was written. */
  hasEnded = false
  /** Monotonic time at which it was given back. */
  idleSinceMs = 0

  /** `onEnd`: its end has been seen, from whichever side. */
  constructor(origin: string, attemptId: string, onEnd: (connection: EngineConnection) => void) {
    this.attemptId = attemptId
    // No time limit to connect: a busy engine may take its time to accept; the client or the slot's stop ends the wait.
    const connect = buildConnector({ timeout: 0 })
    this.client = new Client(origin, {
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The engine's own hint may shorten this, never lengthen it.
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      pipelining: 1,
      connect: (options, callback) =>
        connect(options, (...result) => {
          const socket = result[1]
          this.#socket = socket ?? undefined
          // First of all listeners: node writes no more after them, and undici takes the connection down.
          socket?.prependListener('end', () => this.#lookAtEnd(socket))
          callback(...result)
        }),
    })
    this.client.on('disconnect', () => {
      this.hasEnded = true
      onEnd(this)
    })
  }

  /** The request is about to be written. */
  markSent(): void {
    this.#wasReset = false
    this.#bytesBefore = this.#socket?.bytesRead ?? 0
    this.hasEnded = false
  }

  /** Has nothing come from the engine since the request was written? */
  get isSilent(): boolean {
    return this.#socket?.bytesRead === this.#bytesBefore
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
   * An engine that ended before the request came leaves two things behind, the end of the connection and then the reset that answers the
   * request; reading tells of the end only. Writing tells of the reset: it is refused if the request was, and only then, since nothing else
   * was written. The empty line is for nobody: who ended the connection gives no answer.
   */
  #lookAtEnd(socket: Socket): void {
    if (socket !== this.#socket || !this.isSilent) return
    socket.write('\r\n', (error) => {
      if (error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET')) this.#wasReset = true
    })
  }

  /** Resolves when the connection is gone. */
  async destroy(): Promise<void> {
    await this.client.destroy(CUT_OFF)
  }
}

import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'
import type { Clock } from '../kernel/clock.ts'
import type { Lease } from '../slots/slots.ts'

/**
 * Idle connections are closed after so long: engines close theirs after 5 s (llama-server, uvicorn, node) or say how long in
 * `Keep-Alive`; a request on a connection that is just being closed would be lost.
 */
const KEEP_ALIVE_MS = 800
/**
 * A connection rests so long before it serves again: an engine that closes after an answer, although it promised keep-alive, has
 * done so by then. Costs a few more connections under load, and spares most races.
 */
const REST_MS = 10
/** A connection that ends within this time of a request, on which nothing came, was being closed before the engine saw the request. */
const RACE_WINDOW_MS = 1_000

/** Why a connection was ended from our side; made once, since it is part of every stream's ordinary end. */
export const CUT_OFF: Error = new Error('ended by the gateway')

/**
 * One connection to an engine, used by one request at a time. undici's own queue is never used: a request that waits in it cannot
 * be taken out, and the lease has already decided how many may be under way.
 */
export class EngineConnection {
  readonly client: Client
  readonly attemptId: string
  #socket: Socket | undefined
  #bytesBefore = 0
  #sentAtMs = 0
  /** Monotonic time at which it was given back. */
  idleSinceMs = 0

  constructor(origin: string, attemptId: string) {
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
          this.#socket = result[1] ?? undefined
          callback(...result)
        }),
    })
  }

  /** The request is about to be written. */
  markSent(nowMs: number): void {
    this.#bytesBefore = this.#socket?.bytesRead ?? 0
    this.#sentAtMs = nowMs
  }

  /**
   * Was this a connection that had served before and was being closed as the request arrived? Then the engine never took it up.
   * Source: SPEC 11 "Retries only when provably nothing was sent (keep-alive race)".
   */
  wasKeepAliveRace(error: Error, nowMs: number): boolean {
    const code = 'code' in error ? error.code : undefined
    const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
    const silent = this.#bytesBefore > 0 && this.#socket?.bytesRead === this.#bytesBefore
    return isClosed && silent && nowMs - this.#sentAtMs < RACE_WINDOW_MS
  }

  /** Resolves when the connection is gone. */
  async destroy(): Promise<void> {
    await this.client.destroy(CUT_OFF)
  }
}

/** The idle connections, by engine generation. No limit of their own: leases bound how many are in use. */
export class EnginePools {
  readonly #idle = new Map<string, EngineConnection[]>()
  readonly #gone = new WeakSet<EngineConnection>()
  readonly #busy = new Set<EngineConnection>()
  readonly #clock: Clock
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The most recently used idle connection that has rested, else a new one (which connects when it is used). */
  take(lease: Lease, options: { readonly fresh: boolean } = { fresh: false }): EngineConnection {
    const idle = options.fresh ? undefined : this.#takeRested(lease.attemptId)
    const connection = idle ?? new EngineConnection(lease.endpoint.origin, lease.attemptId)
    this.#busy.add(connection)
    return connection
  }

  #takeRested(attemptId: string): EngineConnection | undefined {
    // Oldest first.
    const idle = this.#idle.get(attemptId) ?? []
    const nowMs = this.#clock.monotonicMs()
    while (nowMs - (idle[0]?.idleSinceMs ?? nowMs) >= KEEP_ALIVE_MS) void idle.shift()?.destroy()
    const at = idle.findLastIndex((connection) => nowMs - connection.idleSinceMs >= REST_MS)
    return at < 0 ? undefined : idle.splice(at, 1)[0]
  }

  /** Back after a complete answer. */
  giveBack(connection: EngineConnection): void {
    this.#busy.delete(connection)
    if (this.#closed || this.#gone.has(connection)) {
      void connection.destroy()
      return
    }
    connection.idleSinceMs = this.#clock.monotonicMs()
    const idle = this.#idle.get(connection.attemptId)
    if (idle === undefined) this.#idle.set(connection.attemptId, [connection])
    else idle.push(connection)
  }

  /** Ends it, in whatever state it is. Resolves when the engine has been cut off. */
  async discard(connection: EngineConnection): Promise<void> {
    this.#busy.delete(connection)
    await connection.destroy()
  }

  /** The engine of this generation has ended. Answers that are still being read run to their own end. */
  forget(attemptId: string): void {
    for (const connection of this.#idle.get(attemptId) ?? []) void connection.destroy()
    this.#idle.delete(attemptId)
    for (const connection of this.#busy) if (connection.attemptId === attemptId) this.#gone.add(connection)
  }

  async close(): Promise<void> {
    this.#closed = true
    const all = [...this.#busy, ...[...this.#idle.values()].flat()]
    this.#idle.clear()
    await Promise.all(all.map((connection) => connection.destroy()))
  }
}

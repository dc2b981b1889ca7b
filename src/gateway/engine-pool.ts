import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'
import type { Lease } from '../slots/slots.ts'

/**
 * Idle connections are closed after so long: engines close theirs after 5 s (llama-server, uvicorn, node) or say how long in
 * `Keep-Alive`; a request on a connection that is just being closed would be lost.
 */
const KEEP_ALIVE_MS = 800
/** A connection that ends within this time of a request, on which nothing came, was being closed before the engine saw the request. */
const RACE_WINDOW_MS = 1_000

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

  constructor(origin: string, attemptId: string) {
    this.attemptId = attemptId
    // No time limit to connect: a busy engine may take its time to accept; the client or the slot's stop ends the wait.
    const connect = buildConnector({ timeout: 0 } as buildConnector.BuildOptions)
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
    await this.client.destroy()
  }
}

/** The idle connections, by engine generation. No limit of their own: leases bound how many are in use. */
export class EnginePools {
  readonly #idle = new Map<string, EngineConnection[]>()
  readonly #gone = new WeakSet<EngineConnection>()
  readonly #busy = new Set<EngineConnection>()
  #closed = false

  /** The most recently used idle connection, else a new one (which connects when it is used). */
  take(lease: Lease, options: { readonly fresh: boolean } = { fresh: false }): EngineConnection {
    const idle = options.fresh ? undefined : this.#idle.get(lease.attemptId)?.pop()
    const connection = idle ?? new EngineConnection(lease.endpoint.origin, lease.attemptId)
    this.#busy.add(connection)
    return connection
  }

  /** Back after a complete answer. */
  giveBack(connection: EngineConnection): void {
    this.#busy.delete(connection)
    if (this.#closed || this.#gone.has(connection)) {
      void connection.destroy()
      return
    }
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

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
 * A connection that ends in good order (FIN) so shortly after a request was written was being closed as it was written. On loopback that
 * takes well under 1 ms; the rest is for our own event loop being busy. An engine that took the request up, and ended over it, rarely
 * does so as fast.
 */
const FIN_WINDOW_MS = 25
/**
 * A connection that is reset needs no such haste: the kernel resets when a process goes, or closes, with bytes unread, so the engine
 * had not read its request. A dying process may take a while to go on a busy machine. Longer, and an engine may have reset on purpose.
 */
const RESET_WINDOW_MS = 1_000

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
  /** Counts the requests, so that news of an earlier one is not taken for this one's. */
  #nth = 0
  /** The event loop has looked at its connections since the request was written: an end that was there already would be known. */
  #hasLooked = true
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
    if (this.#bytesBefore === 0) return
    const nth = ++this.#nth
    this.#hasLooked = false
    // The first turn of the loop may be half over; at the end of the second one every connection has been looked at.
    setImmediate(() =>
      setImmediate(() => {
        if (nth === this.#nth) this.#hasLooked = true
      }),
    )
  }

  /** It has served before, and nothing has come since the request was written. */
  get isSilentReuse(): boolean {
    return this.#bytesBefore > 0 && this.#socket?.bytesRead === this.#bytesBefore
  }

  /**
   * Did the connection end before the engine had read the request? Only on one that has served before and on which nothing came.
   * Proven by a reset (the kernel's word, unless the engine resets on purpose); accepted, for the sake of the ordinary keep-alive race,
   * for an end in good order within moments: an engine that reads a request and ends cleanly over it as fast gets it once more.
   * Source: SPEC 11 "Retries only when provably nothing was sent (keep-alive race)".
   */
  wasKeepAliveRace(error: Error, nowMs: number): boolean {
    if (!this.isSilentReuse) return false
    const sinceMs = nowMs - this.#sentAtMs
    if (isReset(error)) return sinceMs < RESET_WINDOW_MS
    // However long we ourselves were kept from looking, an end found at the first look was there early.
    const isSoon = sinceMs < (this.#hasLooked ? FIN_WINDOW_MS : RESET_WINDOW_MS)
    return 'code' in error && error.code === 'UND_ERR_SOCKET' && isSoon
  }

  /** Resolves when the connection is gone. */
  async destroy(): Promise<void> {
    await this.client.destroy(CUT_OFF)
  }
}

/** The other side's kernel refused bytes that came, or had some unread when the process went. */
export function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

/** The idle connections, by engine generation. No limit of their own: leases bound how many are in use. */
export class EnginePools {
  readonly #idle = new Map<string, EngineConnection[]>()
  readonly #busy = new Set<EngineConnection>()
  readonly #clock: Clock
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The most recently used idle connection, else a new one (which connects when it is used). */
  take(lease: Lease, options: { readonly fresh: boolean } = { fresh: false }): EngineConnection {
    const idle = options.fresh ? undefined : this.#takeIdle(lease.attemptId)
    const connection = idle ?? new EngineConnection(lease.endpoint.origin, lease.attemptId)
    this.#busy.add(connection)
    return connection
  }

  #takeIdle(attemptId: string): EngineConnection | undefined {
    // Oldest first.
    const idle = this.#idle.get(attemptId)
    if (idle === undefined) return undefined
    const nowMs = this.#clock.monotonicMs()
    while (nowMs - (idle[0]?.idleSinceMs ?? nowMs) >= KEEP_ALIVE_MS) void idle.shift()?.destroy()
    return idle.pop()
  }

  /** Back after a complete answer. */
  giveBack(connection: EngineConnection): void {
    this.#busy.delete(connection)
    if (this.#closed) {
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

  /** The engine of this generation has ended. Its leases were revoked or released before, so nothing is under way on it. */
  forget(attemptId: string): void {
    for (const connection of this.#idle.get(attemptId) ?? []) void connection.destroy()
    this.#idle.delete(attemptId)
  }

  async close(): Promise<void> {
    this.#closed = true
    const all = [...this.#busy, ...[...this.#idle.values()].flat()]
    this.#idle.clear()
    await Promise.all(all.map((connection) => connection.destroy()))
  }
}

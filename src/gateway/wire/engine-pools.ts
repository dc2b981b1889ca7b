import type { Clock } from '../../kernel/clock.ts'
import type { Lease } from '../../slots/slots.ts'
import { EngineConnection, KEEP_ALIVE_MS } from './engine-connection.ts'

/**
 * A connection is not used again before it has rested so long and its end was not seen: an engine that closes after an answer does so
 * right away. What was written and came to nothing can then not be told from a request that killed its engine, so it is never repeated.
 */
const REST_MS = 2
/** As long as it is not known whether an engine keeps its connections, they rest longer: it may be kept from closing by a busy machine. */
const PROBATION_MS = 100
/** Connections beyond the most that were ever in use: those that rest. llama-server has two threads more than it has places. */
const SPARE_CONNECTIONS = 2

/** What is known of one engine generation. */
interface Pool {
  /** Oldest first. */
  readonly idle: EngineConnection[]
  readonly busy: Set<EngineConnection>
  mostBusy: number
  /** `closes`: it was seen to end a connection after an answer; every request gets a connection of its own from then on. */
  manners: 'unknown' | 'keeps' | 'closes'
}

/** The connections, by engine generation. Leases bound how many are in use. Source: SPEC 11 "Retries". */
export class EnginePools {
  readonly #pools = new Map<string, Pool>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The idle connection that was used last among those that have rested, else a new one (which connects when it is used). */
  take(lease: Lease): EngineConnection {
    const { attemptId, endpoint } = lease
    const pool = this.#poolOf(attemptId)
    const connection =
      this.#takeRested(pool) ?? new EngineConnection(endpoint.origin, attemptId, (ended) => this.#onEnd(pool, ended))
    pool.busy.add(connection)
    pool.mostBusy = Math.max(pool.mostBusy, pool.busy.size)
    while (pool.idle.length > 0 && pool.busy.size + pool.idle.length > pool.mostBusy + SPARE_CONNECTIONS) {
      // The youngest has the longest to rest.
      void pool.idle.pop()?.destroy()
    }
    return connection
  }

  /** Back after a complete answer. */
  giveBack(connection: EngineConnection): void {
    const pool = this.#pools.get(connection.attemptId)
    if (pool === undefined || connection.hasEnded || pool.manners === 'closes') {
      if (pool !== undefined && connection.hasEnded) pool.manners = 'closes'
      void this.discard(connection)
      return
    }
    pool.busy.delete(connection)
    connection.idleSinceMs = this.#clock.monotonicMs()
    pool.idle.push(connection)
  }

  /** Ends it, in whatever state it is. Resolves when the engine has been cut off. */
  async discard(connection: EngineConnection): Promise<void> {
    this.#pools.get(connection.attemptId)?.busy.delete(connection)
    await connection.destroy()
  }

  /** The engine of this generation has ended. Its leases were revoked or released before, so nothing is under way on it. */
  forget(attemptId: string): void {
    for (const connection of this.#pools.get(attemptId)?.idle ?? []) void connection.destroy()
    this.#pools.delete(attemptId)
  }

  async close(): Promise<void> {
    const all = [...this.#pools.values()].flatMap(({ busy, idle }) => [...busy, ...idle])
    this.#pools.clear()
    await Promise.all(all.map((connection) => connection.destroy()))
  }

  #poolOf(attemptId: string): Pool {
    const known = this.#pools.get(attemptId)
    if (known !== undefined) return known
    const pool: Pool = { idle: [], busy: new Set(), mostBusy: 0, manners: 'unknown' }
    this.#pools.set(attemptId, pool)
    return pool
  }

  #takeRested(pool: Pool): EngineConnection | undefined {
    if (pool.manners === 'closes') return undefined
    const { idle } = pool
    const nowMs = this.#clock.monotonicMs()
    const restedMs = nowMs - (idle[0]?.idleSinceMs ?? nowMs)
    if (pool.manners === 'unknown' && restedMs >= PROBATION_MS) pool.manners = 'keeps'
    const restMs = pool.manners === 'keeps' ? REST_MS : PROBATION_MS
    const at = idle.findLastIndex(({ idleSinceMs }) => nowMs - idleSinceMs >= restMs)
    const candidate = idle[at]
    // undici ends one that is too old, but not to the millisecond.
    if (candidate === undefined || nowMs - candidate.idleSinceMs >= KEEP_ALIVE_MS) return undefined
    idle.splice(at, 1)
    return candidate
  }

  #onEnd(pool: Pool, connection: EngineConnection): void {
    const at = pool.idle.indexOf(connection)
    if (at < 0) return
    pool.idle.splice(at, 1)
    if (this.#clock.monotonicMs() - connection.idleSinceMs < PROBATION_MS) pool.manners = 'closes'
    // A client whose connection ended would make a new one.
    void connection.destroy()
  }
}

import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { Lease } from '../../slots/slots.ts'
import { addressOf, type EngineAddress, EngineConnection } from './engine-connection.ts'

/** Idle connections are closed after so long where the engine does not say how long it keeps them. */
const IDLE_LIMIT_MS = 800
/** Before the time that it says is over (llama-server and node: 5 s), a request could cross its closing. */
const IDLE_MARGIN_MS = 1_000
/** Nobody gains by more. */
const LONGEST_IDLE_MS = 4_000
/**
 * Does an engine keep its connections after an answer? llama-server promises it and closes after each stream. The first one of each
 * kind is watched for so long and used by nobody: an engine that closes does so right away.
 */
const PROBATION_MS = 100
/** Idle connections beyond the most that were ever in use. llama-server has two threads more than it has places. */
const SPARE_CONNECTIONS = 2

/** `closes`: it was seen to end a connection after such an answer; each one of them costs its connection from then on. */
type Manners = 'unknown' | 'watched' | 'keeps' | 'closes'

/** What is known of one engine generation. */
interface Pool {
  readonly address: EngineAddress
  /** Oldest first. */
  readonly idle: EngineConnection[]
  readonly busy: Set<EngineConnection>
  /** With the timer of each. */
  readonly watched: Map<EngineConnection, CancelTimer>
  mostBusy: number
  afterPlain: Manners
  afterStream: Manners
}

/** The connections, by engine generation. Leases bound how many are in use. Source: SPEC 11 "Retries". */
export class EnginePools {
  readonly #pools = new Map<string, Pool>()
  readonly #clock: Clock
  #cancelSweep: CancelTimer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The idle connection that was used last among those that may be used, else a new one. */
  take({ attemptId, endpoint }: Pick<Lease, 'attemptId' | 'endpoint'>): EngineConnection {
    const pool = this.#poolOf(attemptId, endpoint.origin)
    const connection =
      this.#takeIdle(pool) ?? new EngineConnection(pool.address, attemptId, (ended) => this.#onEnd(pool, ended))
    pool.busy.add(connection)
    pool.mostBusy = Math.max(pool.mostBusy, pool.busy.size)
    return connection
  }

  /** Back after a complete answer. */
  giveBack(connection: EngineConnection): void {
    const pool = this.#pools.get(connection.attemptId)
    if (pool !== undefined && connection.hasEnded) setManners(pool, connection, 'closes')
    const manners = pool === undefined ? 'closes' : mannersOf(pool, connection)
    // One is watched; before that has told something, all others are of no use.
    if (pool === undefined || manners === 'closes' || manners === 'watched') return void this.discard(connection)
    pool.busy.delete(connection)
    connection.idleUntilMs = this.#clock.monotonicMs() + idleLimitMs(connection)
    if (manners === 'unknown') this.#watch(pool, connection)
    else pool.idle.push(connection)
    if (pool.busy.size + pool.idle.length > pool.mostBusy + SPARE_CONNECTIONS) void pool.idle.shift()?.destroy()
    this.#sweepLater()
  }

  /** Ends it, in whatever state it is. Resolves when the engine has been cut off. */
  discard(connection: EngineConnection): Promise<void> {
    this.#pools.get(connection.attemptId)?.busy.delete(connection)
    return connection.destroy()
  }

  /** A connection that was used again ended without a word: the engine does not keep them. */
  distrust(connection: EngineConnection): void {
    const pool = this.#pools.get(connection.attemptId)
    if (pool !== undefined) setManners(pool, connection, 'closes')
  }

  /** The engine of this generation has ended. Its leases were revoked or released before, so nothing is under way on it. */
  forget(attemptId: string): void {
    const pool = this.#pools.get(attemptId)
    if (pool === undefined) return
    for (const cancel of pool.watched.values()) cancel()
    for (const connection of [...pool.idle, ...pool.watched.keys()]) void connection.destroy()
    this.#pools.delete(attemptId)
  }

  /** Ends all of them; whoever follows a request on one hears `reason`. */
  async close(reason: Error): Promise<void> {
    this.#cancelSweep?.()
    const pools = [...this.#pools.values()]
    for (const { watched } of pools) for (const cancel of watched.values()) cancel()
    const all = pools.flatMap(({ busy, idle, watched }) => [...busy, ...idle, ...watched.keys()])
    this.#pools.clear()
    for (const { busy } of pools) for (const connection of [...busy]) connection.abort(reason)
    await Promise.all(all.map((connection) => connection.destroy()))
  }

  #poolOf(attemptId: string, origin: string): Pool {
    const known = this.#pools.get(attemptId)
    if (known !== undefined) return known
    const pool: Pool = {
      address: addressOf(origin),
      idle: [],
      busy: new Set(),
      watched: new Map(),
      mostBusy: 0,
      afterPlain: 'unknown',
      afterStream: 'unknown',
    }
    this.#pools.set(attemptId, pool)
    return pool
  }

  #takeIdle({ idle }: Pool): EngineConnection | undefined {
    const candidate = idle.pop()
    if (candidate === undefined) return undefined
    if (this.#clock.monotonicMs() < candidate.idleUntilMs) return candidate
    // The sweep ends it, and what is older.
    idle.push(candidate)
    return undefined
  }

  #watch(pool: Pool, connection: EngineConnection): void {
    setManners(pool, connection, 'watched')
    const cancel = this.#clock.setTimer(PROBATION_MS, () => {
      pool.watched.delete(connection)
      if (mannersOf(pool, connection) !== 'watched') return void connection.destroy()
      setManners(pool, connection, 'keeps')
      pool.idle.push(connection)
      this.#sweepLater()
    })
    pool.watched.set(connection, cancel)
  }

  #onEnd(pool: Pool, connection: EngineConnection): void {
    const cancel = pool.watched.get(connection)
    if (cancel !== undefined) {
      cancel()
      pool.watched.delete(connection)
      return setManners(pool, connection, 'closes')
    }
    const at = pool.idle.indexOf(connection)
    if (at < 0) return
    pool.idle.splice(at, 1)
    // An engine that is faster than we are in ending what is idle will one day be as fast as a request.
    setManners(pool, connection, 'closes')
  }

  #sweepLater(): void {
    this.#cancelSweep ??= this.#clock.setTimer(IDLE_LIMIT_MS, () => this.#sweep())
  }

  /** Ends what has been idle for too long. */
  #sweep(): void {
    this.#cancelSweep = undefined
    const nowMs = this.#clock.monotonicMs()
    let isAnyLeft = false
    for (const pool of this.#pools.values()) {
      const fresh = pool.idle.findIndex(({ idleUntilMs }) => nowMs < idleUntilMs)
      for (const old of pool.idle.splice(0, fresh < 0 ? pool.idle.length : fresh)) void old.destroy()
      isAnyLeft ||= pool.idle.length > 0
    }
    if (isAnyLeft) this.#sweepLater()
  }
}

function idleLimitMs({ keepsForS }: EngineConnection): number {
  if (keepsForS === undefined) return IDLE_LIMIT_MS
  return Math.min(Math.max(keepsForS * SECOND_MS - IDLE_MARGIN_MS, IDLE_LIMIT_MS), LONGEST_IDLE_MS)
}

function mannersOf(pool: Pool, { didStream }: EngineConnection): Manners {
  return didStream ? pool.afterStream : pool.afterPlain
}

function setManners(pool: Pool, { didStream }: EngineConnection, manners: Manners): void {
  if (didStream) pool.afterStream = manners
  else pool.afterPlain = manners
}

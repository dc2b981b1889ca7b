import type { Clock } from '../../kernel/clock.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { MemoryMeter } from './admission.ts'
import type { PromisedLoad } from './rules/memory-limits.ts'
import { footprintOf, type Placed, type PoolReading } from './rules/memory-map.ts'
import { freeOf, isReleased, planReleases, type Release } from './rules/release.ts'

/** A load that was let in: `readAt` then, `shownBytes` since then. */
interface Promised extends PromisedLoad {
  readonly readAt: readonly PoolReading[]
  readonly shownBytes: Map<string, number>
}

/** A reading of so long ago still tells what was free before a stop: whoever makes others go has just looked. */
const FRESH_MS = SECOND_MS

interface Awaited {
  readonly releases: readonly Release[]
  readonly untilMs: number
}

/** Memory on its way: promised to loads that run, and not yet back from stops. Source: SPEC 7 "Free memory". */
export class PromiseBook {
  readonly #promised = new Set<Promised>()
  readonly #awaited = new Set<Awaited>()
  /** What main memory lost while a slot's engine came up. */
  readonly #takenHostBytes = new Map<string, number>()
  #settled = 0
  #lastRead: { readonly pools: readonly PoolReading[]; readonly atMs: number } | undefined
  readonly #meter: MemoryMeter
  readonly #clock: Clock
  readonly #releaseWaitMs: () => number
  readonly #stayers: () => readonly Placed[]

  /** `stayers`: who holds memory and does not stop. */
  constructor(meter: MemoryMeter, clock: Clock, releaseWaitMs: () => number, stayers: () => readonly Placed[]) {
    this.#stayers = stayers
    this.#meter = meter
    this.#clock = clock
    this.#releaseWaitMs = releaseWaitMs
  }

  get promises(): readonly PromisedLoad[] {
    return [...this.#promised]
  }

  /** Free memory that belongs to the promises as they are now: a load that was settled meanwhile may be missing from both. */
  async read(): Promise<readonly PoolReading[]> {
    for (;;) {
      const settled = this.#settled
      const pools = await this.#meter.read()
      if (settled !== this.#settled) continue
      this.#lastRead = { pools, atMs: this.#clock.monotonicMs() }
      for (const promised of this.#promised) noteShown(promised, pools)
      return pools
    }
  }

  /** `settle` takes the promise back; idempotent. */
  promise(placed: Placed, pools: readonly PoolReading[], onSettled: () => void): { settle(): void } {
    const promised = { ...placed, readAt: pools, shownBytes: new Map<string, number>() }
    this.#promised.add(promised)
    this.#takenHostBytes.delete(placed.slot)
    return {
      settle: () => {
        if (!this.#promised.delete(promised)) return
        this.#settled += 1
        void this.#measure(promised)
        onSettled()
      },
    }
  }

  /** A live process is about to be ended. `onEnded` is called when it is known what is to come back. */
  stopBegins(stopped: Placed, onEnded: () => void): { exited(): void; ended(): void } {
    const earlier = this.#lastRead
    const isFresh = earlier !== undefined && this.#clock.monotonicMs() - earlier.atMs <= FRESH_MS
    let before = isFresh ? earlier.pools : undefined
    let late: readonly PoolReading[] | undefined
    let hasExited = false
    const reading = this.#meter.read().then((pools) => {
      late = pools
      if (!hasExited) before ??= pools
    })
    let hasEnded = false
    return {
      // What is read from now on may show its memory as free already, and nothing would come back any more.
      exited: () => {
        hasExited = true
      },
      ended: () => {
        if (hasEnded) return
        hasEnded = true
        const untilMs = this.#clock.monotonicMs() + this.#releaseWaitMs()
        const known = before ?? earlier?.pools
        if (known !== undefined) this.#await(known, stopped, untilMs)
        else void reading.then(() => this.#await(late ?? [], stopped, untilMs)).then(onEnded)
        onEnded()
      },
    }
  }

  /** The pools to which memory has still to come back. Forgets what is back, and what has been waited for long enough. */
  releasing(pools: readonly PoolReading[]): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const awaited of this.#awaited) {
      const missing = awaited.releases.filter((release) => !isReleased(pools, release))
      const isOver = missing.length === 0 || this.#clock.monotonicMs() >= awaited.untilMs
      if (isOver) this.#awaited.delete(awaited)
      else for (const release of missing) for (const id of release.ids) ids.add(id)
    }
    return ids
  }

  /** Bytes of one pool that are promised to loads that run. */
  promisedOn(pools: readonly PoolReading[], id: string): number {
    let bytes = 0
    for (const promised of this.#promised) {
      const footprint = footprintOf(pools, promised)
      if (footprint === undefined) continue
      const isHost = pools.some((pool) => pool.id === id && pool.kind === 'host')
      bytes += isHost ? footprint.hostBytes : (footprint.gpuShares.get(id) ?? 0)
    }
    return Math.round(bytes)
  }

  #await(before: readonly PoolReading[], stopped: Placed, untilMs: number): void {
    const releases = planReleases(before, stopped, {
      takenHostBytes: this.#takenHostBytes.get(stopped.slot),
      promisedBytes: (ids) => ids.reduce((sum, id) => sum + this.promisedOn(before, id), 0),
      heldByOthersBytes: (ids) => this.#heldOnCards(before, ids, stopped.slot),
    })
    if (releases.length > 0) this.#awaited.add({ releases, untilMs })
  }

  /** Main memory has users of whom nothing is known, and mapped weights: nothing is said of it. */
  #heldOnCards(pools: readonly PoolReading[], ids: readonly string[], except: string): number {
    const promised = new Set([...this.#promised].map(({ slot }) => slot))
    let bytes = 0
    for (const stayer of this.#stayers()) {
      if (stayer.slot === except || promised.has(stayer.slot)) continue
      const shares = footprintOf(pools, stayer)?.gpuShares
      for (const id of ids) bytes += shares?.get(id) ?? 0
    }
    return bytes
  }

  async #measure(promised: Promised): Promise<void> {
    const after = hostFree(await this.#meter.read())
    const before = hostFree(promised.readAt)
    if (after === undefined || before === undefined) return
    this.#takenHostBytes.set(promised.slot, Math.max(0, before - after))
  }
}

/** The most counts: a load only takes, and what comes back meanwhile comes from others. */
function noteShown({ readAt, shownBytes }: Promised, pools: readonly PoolReading[]): void {
  for (const { id, freeBytes } of pools) {
    const before = readAt.find((pool) => pool.id === id)?.freeBytes
    if (before === undefined || freeBytes === undefined) continue
    shownBytes.set(id, Math.max(shownBytes.get(id) ?? 0, before - freeBytes))
  }
}

function hostFree(pools: readonly PoolReading[]): number | undefined {
  return freeOf(
    pools,
    pools.filter((pool) => pool.kind === 'host').map((pool) => pool.id),
  )
}

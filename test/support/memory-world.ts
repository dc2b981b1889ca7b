import type { NewEvent } from '../../src/contract/events.ts'
import type { Device } from '../../src/contract/slot-row.ts'
import { messageOf } from '../../src/kernel/errors.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { GIB } from '../../src/kernel/units.ts'
import type { KnownNeed, MemoryNeed } from '../../src/launch/rules/memory-need.ts'
import { type Deferred, deferred } from '../../src/slots/actor/deferred.ts'
import type { Admission, MemoryPool } from '../../src/slots/admission/admission.ts'
import type { DeskSettings } from '../../src/slots/admission/desk-settings.ts'
import { createMemoryDesk } from '../../src/slots/admission/memory-desk.ts'
import type { Claim, EvictionOutcome, Resident, Residents } from '../../src/slots/admission/residents.ts'
import { ManualClock } from './manual-clock.ts'

/** What a slot of the world is like; sizes in GiB. */
export interface SlotTraits {
  readonly device?: Device
  readonly gpuIndex?: number
  readonly gpuGib?: number
  readonly hostGib?: number
  readonly need?: MemoryNeed
  pinned?: boolean
  readonly priority?: number
  readonly isLanes?: boolean
  readonly mode?: 'enforce' | 'warn' | 'off'
  readonly loadMs?: number
  readonly stopMs?: number
  /** From its death until its memory is free. */
  readonly lagMs?: number
}

export function needOf(gpuGib: number, hostGib = 0, more: Partial<KnownNeed> = {}): KnownNeed {
  const bytes = { gpuBytes: gpuGib * GIB, hostBytes: hostGib * GIB, mappedBytes: 0 }
  return { kind: 'known', ...bytes, weightsBytes: 0, cacheBytes: 0, overheadBytes: 0, ...more }
}

/** A machine's pools by id; sizes in GiB. */
export function poolOf(id: string, totalGib: number, more: Partial<MemoryPool> = {}): MemoryPool {
  const bytes = totalGib * GIB
  const isHost = id === 'host'
  return {
    id,
    kind: isHost ? 'host' : 'vram',
    vendor: isHost ? undefined : 'NVIDIA',
    gpuIndex: isHost ? undefined : Number(id.slice(3)),
    totalBytes: bytes,
    freeBytes: bytes,
    ...more,
  }
}

interface Waiter {
  readonly sinceMs: number
  readonly serveMs: number
  readonly answer: Deferred<string>
}

/** Slots that behave like actors, on a machine whose memory is only counted. Everything runs on `clock`. */
export class MemoryWorld {
  readonly clock = new ManualClock()
  readonly events: NewEvent[] = []
  readonly slots = new Map<string, WorldSlot>()
  /** Bytes that other programs hold, by pool. */
  readonly others = new Map<string, number>()
  pools: readonly MemoryPool[]
  /** Bytes by which a pool was ever overdrawn. */
  overdrawnBytes = 0
  loads: string[] = []
  readonly settings: { -readonly [Key in keyof DeskSettings]: DeskSettings[Key] } = {
    loadWaitMs: 60_000,
    groups: {},
    evictPressureBytes: 0,
    evictPressurePct: 10,
    releaseWaitMs: 10_000,
  }
  readonly meter = { read: async () => this.#measure() }
  readonly bus = { publish: (event: NewEvent) => void this.events.push(event) }
  readonly residents: Residents = {
    list: () => [...this.slots.values()].flatMap((slot) => slot.resident() ?? []),
    evict: (name) => this.slot(name).evict(),
    claim: (name) => this.slot(name).claim(),
  }
  readonly desk = createMemoryDesk(this.parts())

  constructor(pools: readonly MemoryPool[]) {
    this.pools = pools
  }

  parts() {
    const { meter, residents, clock, bus } = this
    return { meter, residents, clock, bus, log: silentLog, settings: (): DeskSettings => this.settings }
  }

  add(name: string, traits: SlotTraits = {}): WorldSlot {
    const slot = new WorldSlot(this, name, traits)
    this.slots.set(name, slot)
    return slot
  }

  slot(name: string): WorldSlot {
    const slot = this.slots.get(name)
    if (slot === undefined) throw new Error(`no slot ${name}`)
    return slot
  }

  evicted(): unknown[] {
    return this.events.filter(({ type }) => type === 'slot.evicted').map(({ data }) => data['slot'])
  }

  check(): void {
    for (const pool of this.#measure(true)) {
      this.overdrawnBytes = Math.max(this.overdrawnBytes, -(pool.freeBytes ?? 0))
    }
  }

  #measure(isRaw = false): MemoryPool[] {
    return this.pools.map((pool) => {
      if (pool.freeBytes === undefined) return pool
      let free = (pool.totalBytes ?? 0) - (this.others.get(pool.id) ?? 0)
      for (const slot of this.slots.values()) free -= slot.takenOn(pool)
      return { ...pool, freeBytes: isRaw ? free : Math.max(0, free) }
    })
  }
}

/** One slot: its requests load it, hold leases, and wait while others claim it. */
export class WorldSlot {
  phase: 'offline' | 'asking' | 'loading' | 'up' | 'stopping' = 'offline'
  leases = 0
  lastUsedMs = 0
  admission: Admission | undefined
  refusals: unknown[] = []
  waitingFor: string[] = []
  maxClaims = 0
  readonly claims = new Set<Deferred<EvictionOutcome>>()
  readonly traits: SlotTraits
  readonly name: string
  /** Makes the actor refuse to go once although the list says that it is quiet. */
  refusesOnce = false
  controller = new AbortController()
  readonly #world: MemoryWorld
  #waiters: Waiter[] = []
  /** Bytes on cards and in main memory, of a live engine and of one whose memory is not back yet. */
  #taken: { gpu: number; host: number }[] = []

  constructor(world: MemoryWorld, name: string, traits: SlotTraits) {
    this.#world = world
    this.name = name
    this.traits = traits
  }

  get gpus(): readonly number[] | undefined {
    return this.traits.gpuIndex === undefined ? undefined : [this.traits.gpuIndex]
  }

  get need(): MemoryNeed {
    return this.traits.need ?? needOf(this.traits.gpuGib ?? 0, this.traits.hostGib ?? 0)
  }

  takenOn(pool: MemoryPool): number {
    const isHost = pool.kind === 'host'
    if (!isHost && this.traits.gpuIndex !== undefined && pool.gpuIndex !== this.traits.gpuIndex) return 0
    return this.#taken.reduce((sum, part) => sum + (isHost ? part.host : part.gpu), 0)
  }

  resident(): Resident | undefined {
    if (this.phase === 'offline') return undefined
    const busyOrQuiet = this.leases > 0 ? 'busy' : 'quiet'
    const standing = this.phase === 'up' ? busyOrQuiet : this.phase === 'stopping' ? 'stopping' : 'loading'
    return {
      slot: this.name,
      state: this.phase === 'up' ? 'ready' : this.phase === 'stopping' ? 'unloading' : 'starting',
      standing,
      device: this.traits.device ?? 'gpu-cuda',
      gpus: this.gpus,
      // As the actors: what stops has no engine to ask.
      need: this.phase === 'stopping' ? undefined : this.need,
      pinned: this.traits.pinned ?? false,
      priority: this.traits.priority ?? 50,
      lastUsedMs: this.lastUsedMs,
      inFlight: this.leases,
      isLanes: this.traits.isLanes ?? false,
    }
  }

  /** Up at once, as if it had always been. */
  up(lastUsedMs = 0): this {
    this.phase = 'up'
    this.lastUsedMs = lastUsedMs
    this.#take(1)
    return this
  }

  /** One request of `serveMs`; resolves with 'served' or the code of the refusal. */
  request(serveMs: number): Promise<string> {
    const answer = deferred<string>()
    this.#waiters.push({ sinceMs: this.#world.clock.monotonicMs(), serveMs, answer })
    this.#pump()
    return answer.promise
  }

  /** A person's load: nobody waits for it. */
  load(): void {
    if (this.phase === 'offline') void this.#load()
  }

  stop(): Promise<void> {
    const { clock, desk } = this.#world
    const { stopMs = 200, lagMs = 0 } = this.traits
    const count = this.#taken.length
    this.phase = 'stopping'
    const stop = desk.stopBegins({ ...this.#place(), slot: this.name, need: this.need })
    return new Promise((resolve) => {
      clock.setTimer(stopMs, () => {
        const free = () => this.#taken.splice(0, count)
        if (lagMs === 0) free()
        else clock.setTimer(lagMs, free)
        stop.ended()
        this.phase = 'offline'
        for (const claim of [...this.claims]) claim.resolve('evicted')
        this.claims.clear()
        resolve()
        this.#pump()
      })
    })
  }

  async evict(): Promise<EvictionOutcome> {
    const isQuiet = this.phase === 'up' && this.leases === 0 && this.traits.pinned !== true && !this.refusesOnce
    this.refusesOnce = false
    if (!isQuiet) return 'refused'
    await this.stop()
    return 'evicted'
  }

  claim(): Claim {
    const gone = deferred<EvictionOutcome>()
    if (this.phase === 'offline' || this.phase === 'asking') gone.resolve('refused')
    else this.claims.add(gone)
    this.maxClaims = Math.max(this.maxClaims, this.claims.size)
    queueMicrotask(() => this.#pump())
    const giveUp = () => {
      if (this.phase === 'stopping' || !this.claims.delete(gone)) return
      gone.resolve('refused')
      this.#pump()
    }
    return { gone: gone.promise, giveUp }
  }

  #place() {
    return { device: this.traits.device ?? 'gpu-cuda', gpus: this.gpus } as const
  }

  #pump(): void {
    if (this.phase === 'offline' && this.#waiters.length > 0) void this.#load()
    if (this.phase !== 'up') return
    if (this.claims.size === 0) this.#serve()
    else if (this.leases === 0) void this.stop()
  }

  #serve(): void {
    for (const { serveMs, answer } of this.#waiters.splice(0)) {
      this.leases += 1
      this.#world.clock.setTimer(serveMs, () => {
        this.leases -= 1
        this.lastUsedMs = this.#world.clock.monotonicMs()
        answer.resolve('served')
        this.#pump()
      })
    }
  }

  async #load(): Promise<void> {
    const { clock, desk, loads } = this.#world
    this.phase = 'asking'
    try {
      this.admission = await desk.admit({
        ...this.#place(),
        slot: this.name,
        need: this.need,
        mode: this.traits.mode ?? 'enforce',
        signal: this.controller.signal,
        oldestWaiterMs: () => this.#waiters[0]?.sinceMs,
        onWaiting: (message) => void this.waitingFor.push(message),
      })
    } catch (cause) {
      this.phase = 'offline'
      this.refusals.push(cause)
      for (const { answer } of this.#waiters.splice(0)) answer.resolve(messageOf(cause))
      return
    }
    loads.push(this.name)
    this.phase = 'loading'
    const { loadMs = 1000 } = this.traits
    this.#take(0.5)
    await new Promise<void>((resolve) => void clock.setTimer(loadMs, resolve))
    this.#taken.pop()
    this.#take(1)
    this.phase = 'up'
    this.lastUsedMs = clock.monotonicMs()
    this.admission.settle()
    // Those who waited are served even when somebody claims it.
    this.#serve()
    this.#pump()
  }

  #take(part: number): void {
    const { need } = this
    const bytes = need.kind === 'known' ? need : needOf(this.traits.gpuGib ?? 0, this.traits.hostGib ?? 0)
    this.#taken.push({ gpu: bytes.gpuBytes * part, host: (bytes.hostBytes - bytes.mappedBytes) * part })
    this.#world.check()
  }
}

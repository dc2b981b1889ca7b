import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { Device } from '../../src/contract/slot-row.ts'
import type { MemoryNeed } from '../../src/launch/rules/memory-need.ts'
import type { MemoryPool } from '../../src/slots/admission/admission.ts'
import type { ManualClock } from './manual-clock.ts'

/** What the memory of one slot's engines behaves like. */
export interface MachineSlot {
  readonly device: Device
  readonly gpuIndex: number | undefined
  readonly loadMs: number
  /** From the death of an engine until its memory is free. */
  readonly lagMs: number
}

interface Taken {
  readonly slot: string
  readonly need: MemoryNeed
  startedMs: number
  freeMs: number
}

/** A machine whose memory is only counted: half of what an engine needs is taken at its start, all of it when it is up. */
export class FleetMachine {
  /** Bytes that other programs hold, by pool. */
  readonly others = new Map<string, number>()
  /** Bytes by which a pool was ever overdrawn. */
  overdrawnBytes = 0
  readonly #pools: readonly MemoryPool[]
  readonly #clock: ManualClock
  readonly #slotOf: (slot: string) => MachineSlot
  readonly #taken = new Map<LaunchPlan, Taken>()

  constructor(pools: readonly MemoryPool[], clock: ManualClock, slotOf: (slot: string) => MachineSlot) {
    this.#pools = pools
    this.#clock = clock
    this.#slotOf = slotOf
  }

  /** This launch will take so much. */
  prepare(plan: LaunchPlan, need: MemoryNeed): void {
    this.#taken.set(plan, { slot: plan.slot, need, startedMs: Infinity, freeMs: Infinity })
  }

  needOf(plan: LaunchPlan): MemoryNeed {
    return this.#entry(plan).need
  }

  started(plan: LaunchPlan): void {
    const entry = this.#entry(plan)
    entry.startedMs = this.#clock.monotonicMs()
    this.measure()
    this.#clock.setTimer(this.#slotOf(entry.slot).loadMs, () => void this.measure())
  }

  ended(plan: LaunchPlan): void {
    const entry = this.#entry(plan)
    entry.freeMs = this.#clock.monotonicMs() + this.#slotOf(entry.slot).lagMs
  }

  isUp(plan: LaunchPlan): boolean {
    const { slot, startedMs } = this.#entry(plan)
    return this.#clock.monotonicMs() - startedMs >= this.#slotOf(slot).loadMs
  }

  measure(): MemoryPool[] {
    return this.#pools.map((pool) => {
      if (pool.totalBytes === undefined || pool.freeBytes === undefined) return pool
      const freeBytes = pool.totalBytes - this.#takenOn(pool)
      this.overdrawnBytes = Math.max(this.overdrawnBytes, -freeBytes)
      return { ...pool, freeBytes: Math.max(0, freeBytes) }
    })
  }

  #takenOn(pool: MemoryPool): number {
    const nowMs = this.#clock.monotonicMs()
    let bytes = this.others.get(pool.id) ?? 0
    for (const [plan, { slot, need, startedMs, freeMs }] of this.#taken) {
      if (need.kind === 'unknown' || nowMs < startedMs || nowMs >= freeMs) continue
      const part = this.isUp(plan) ? 1 : 0.5
      const { device, gpuIndex = 0 } = this.#slotOf(slot)
      const isOnGpu = device.startsWith('gpu-')
      if (pool.kind === 'host') bytes += (need.hostBytes - need.mappedBytes + (isOnGpu ? 0 : need.gpuBytes)) * part
      else if (isOnGpu && gpuIndex === pool.gpuIndex) bytes += need.gpuBytes * part
    }
    return bytes
  }

  #entry(plan: LaunchPlan): Taken {
    const entry = this.#taken.get(plan)
    if (entry === undefined) throw new Error(`a start of ${plan.slot} that was not prepared`)
    return entry
  }
}

import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { type GpuProcess, listGpuProcesses } from '../hardware/gpu-processes.ts'
import type { HardwareSources } from '../hardware/hardware-sources.ts'
import type { MemoryMeter } from '../hardware/memory-meter.ts'
import { gibText } from '../kernel/units.ts'
import { choosePools } from '../slots/admission/rules/memory-map.ts'
import type { LaneSlotConfig } from '../slots/lane-bindings.ts'

/** The memory that is a lane's: how large it is, and who else is in it. Source: SPEC 12 "Failure", "exceeds_vram". */
export interface LaneMemory {
  /** Of all its cards, of main memory on a CPU; undefined = it cannot be told. Never rejects. */
  totalBytes(lane: string): Promise<number | undefined>
  /** Reads which GPUs there are again. Never rejects. */
  look(): Promise<void>
  /** Those of the lane's GPUs that this machine did not show at the last look; none before the first. */
  missingGpus(lane: string): readonly number[]
  /** Processes that hold memory of its cards, in one sentence (pid, program, user, bytes); '' = none but hal0's own engine, or it cannot be told. Never rejects. */
  describeHolders(lane: string): Promise<string>
}

export interface LaneMemoryDeps {
  readonly meter: Pick<MemoryMeter, 'read'>
  readonly hardware: HardwareSources
  readonly configOf: (lane: string) => LaneSlotConfig | undefined
  /** Of the lane's own engine; null = none runs. */
  readonly pidOf: (lane: string) => number | null
}

/** More than a few help nobody. */
const MAX_TOLD = 5

export function createLaneMemory({ meter, hardware, configOf, pidOf }: LaneMemoryDeps): LaneMemory {
  let seen: Awaited<ReturnType<MemoryMeter['read']>> | undefined

  async function poolsOf(lane: string) {
    const made = configOf(lane)
    const pools = await meter.read()
    if (made === undefined) return { pools: [], isCard: false }
    const choice = choosePools(pools, made.config.device, made.gpus.length === 0 ? undefined : made.gpus)
    if (choice.kind === 'none') return { pools: [], isCard: false }
    const isCard = choice.gpuIds.length > 0
    const ids = isCard ? choice.gpuIds : [choice.hostId]
    return { pools: pools.filter(({ id }) => ids.includes(id)), isCard }
  }

  return {
    async totalBytes(lane) {
      const { pools } = await poolsOf(lane)
      const totals = pools.map((pool) => pool.totalBytes)
      if (totals.length === 0 || totals.includes(undefined)) return undefined
      return totals.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
    },
    async look() {
      seen = await meter.read()
    },
    missingGpus(lane) {
      const made = configOf(lane)
      if (made === undefined || seen === undefined) return []
      const pools = seen
      return made.gpus.filter((gpu) => {
        const choice = choosePools(pools, made.config.device, [gpu])
        return choice.kind === 'none' || choice.gpuIds.length === 0
      })
    },
    async describeHolders(lane) {
      const { pools, isCard } = await poolsOf(lane)
      if (!isCard) return ''
      const ids = new Set(pools.map(({ id }) => id))
      const own = pidOf(lane)
      const found = (await listGpuProcesses(hardware)).filter(({ pid, pool }) => ids.has(pool) && pid !== own)
      if (found.length === 0) return ''
      const told = await Promise.all(found.slice(0, MAX_TOLD).map(textOf))
      const more = found.length > MAX_TOLD ? ` and ${found.length - MAX_TOLD} more` : ''
      return `Other processes hold memory of its GPUs: ${told.join(', ')}${more}.`
    },
  }
}

async function textOf({ pid, program, bytes }: GpuProcess): Promise<string> {
  const user = await ownerOf(pid)
  const size = bytes === undefined ? '' : `, ${gibText(bytes)}`
  return `pid ${pid} (${program}, ${user}${size})`
}

async function ownerOf(pid: number): Promise<string> {
  const uid = await stat(`/proc/${pid}`).then(
    (found) => found.uid,
    () => undefined,
  )
  if (uid === undefined) return 'unknown user'
  const own = userInfo()
  return uid === own.uid ? `user ${own.username}` : `uid ${uid}`
}

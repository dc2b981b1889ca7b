import type { SlotOutline } from '../slots/rules/slot-outline.ts'

/** A lane as far as its GPUs go. */
export interface LaneGpus {
  readonly name: string
  /** How messages name its file. */
  readonly file: string
  readonly gpus: readonly number[]
  /** It is being made: there is no such file yet. */
  readonly isNew?: boolean
}

/** A GPU that two files claim. `file`: the one that comes second. */
export interface GpuClash {
  readonly file: string
  readonly key: 'gpus' | 'gpu_index'
  /** The lanes that claim it: one, where the other is a slot. */
  readonly lanes: readonly string[]
  readonly message: string
}

/** Which GPUs are claimed by two lanes, or by a lane and a slot that pins one? Source: SPEC 12 "A GPU belongs to at most one lane". */
export function findGpuClashes(lanes: readonly LaneGpus[], slots: readonly SlotOutline[]): readonly GpuClash[] {
  const owners = new Map<number, LaneGpus>()
  const clashes: GpuClash[] = []
  for (const lane of lanes) {
    for (const gpu of lane.gpus) {
      const owner = owners.get(gpu)
      if (owner === undefined) owners.set(gpu, lane)
      else if (owner !== lane) {
        const message =
          lane.isNew === true
            ? `GPU ${gpu} belongs to lane "${owner.name}" (${owner.file}) already: choose another for the new lane "${lane.name}"`
            : `GPU ${gpu} belongs to lane "${owner.name}" (${owner.file}) and to lane "${lane.name}" (${lane.file}): take it out of one`
        clashes.push({ file: lane.file, key: 'gpus', lanes: [owner.name, lane.name], message })
      }
    }
  }
  for (const slot of slots) {
    const owner = slot.gpuIndex === undefined ? undefined : owners.get(slot.gpuIndex)
    if (owner === undefined) continue
    const message =
      owner.isNew === true
        ? `slot "${slot.name}" (${slot.file}) pins GPU ${slot.gpuIndex}: choose another for the new lane "${owner.name}"`
        : `GPU ${slot.gpuIndex} belongs to lane "${owner.name}" (${owner.file}), and slot "${slot.name}" (${slot.file}) pins it: choose another, or none`
    clashes.push({ file: slot.file, key: 'gpu_index', lanes: [owner.name], message })
  }
  return clashes
}

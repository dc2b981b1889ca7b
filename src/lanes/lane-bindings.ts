import type { LaneFile, LiveLanes } from '../config/lanes/live-lanes.ts'
import { slotFileSchema } from '../config/slots/rules/slot-schema.ts'
import type { LaneBindings, LaneSlotConfig } from '../slots/lane-bindings.ts'
import { type LaneTarget, NOTHING, sameTarget } from './rules/lane-target.ts'

/** What each lane runs now, in memory and nowhere else: the slots read it where others read a slot file. Source: SPEC 12. */
export interface LaneTargets extends LaneBindings {
  /** Nothing, until somebody says otherwise. */
  targetOf(name: string): LaneTarget
  /** Counts from the next start of the lane's slot. */
  setTarget(name: string, target: LaneTarget): void
}

interface Made {
  readonly file: LaneFile
  readonly target: LaneTarget
  readonly slot: LaneSlotConfig
}

/** Of the lanes that there are at the moment. */
export function createLaneBindings(lanes: Pick<LiveLanes, 'all' | 'find'>): LaneTargets {
  const targets = new Map<string, LaneTarget>()
  const made = new Map<string, Made>()
  const targetOf = (name: string) => targets.get(name) ?? NOTHING
  return {
    names: () => lanes.all().map(({ name }) => name),
    configOf: (name) => {
      const file = lanes.find(name)
      if (file === undefined) {
        // A lane of this name that comes later begins with nothing.
        targets.delete(name)
        made.delete(name)
        return undefined
      }
      const target = targetOf(name)
      const before = made.get(name)
      if (before?.file === file && sameTarget(before.target, target)) return before.slot
      const slot = slotOf(file, target)
      made.set(name, { file, target, slot })
      return slot
    },
    targetOf,
    setTarget: (name, target) => void targets.set(name, target),
  }
}

function slotOf({ name, config: lane }: LaneFile, target: LaneTarget): LaneSlotConfig {
  const bound = target.kind === 'nothing' ? {} : { profile: target.profile, model: { default: target.model } }
  const config = slotFileSchema.parse({
    name,
    type: 'llm',
    device: lane.device,
    threads: lane.threads,
    autoload: false,
    pinned: false,
    unload_after_s: 0,
    ...bound,
  })
  return { config, gpus: lane.gpus, runner: lane.runner }
}

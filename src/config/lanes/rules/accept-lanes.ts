import type { LaneConfig } from '../../../contract/lane-config.ts'
import { isSameData } from '../../toml/rules/same-data.ts'

/** A lane file as it was read. `config` undefined = it has mistakes, which `problem` tells. */
export interface ReadLane {
  readonly config: LaneConfig | undefined
  readonly problem: string | undefined
}

/** A lane that counts. */
export interface AcceptedLane {
  readonly name: string
  readonly config: LaneConfig
  readonly problem: string | undefined
}

export interface LanesQuestion {
  /** The files that there are now, in order of name. */
  readonly read: ReadonlyMap<string, ReadLane>
  /** The lanes that counted until now, by name. */
  readonly before: ReadonlyMap<string, Pick<AcceptedLane, 'config'>>
  /** Lane → what is told of the clash of its name with another. */
  readonly taken: ReadonlyMap<string, string>
  /** Slots that have a file: a lane of such a name does not count. */
  readonly slotNames: ReadonlySet<string>
}

/**
 * Which lanes count, and what is wrong with those that do not, or only as they were? A file with mistakes leaves the lane as it was. Of two
 * lanes that claim one GPU the one that had it keeps it; else the first by name. A name that an alias or a model has too is told and no more.
 * Source: SPEC 2 "last good version", 12 "A GPU belongs to at most one lane", CASES 39.
 */
export function acceptLanes({ read, before, taken, slotNames }: LanesQuestion): {
  readonly lanes: readonly AcceptedLane[]
  readonly problems: ReadonlyMap<string, string>
} {
  const owners = new Map<number, string>()
  const configs = new Map<string, LaneConfig>()
  const problems = new Map<string, string>()
  const accept = (name: string, config: LaneConfig): void => {
    configs.set(name, config)
    for (const gpu of config.gpus) owners.set(gpu, name)
  }
  const names = [...read.keys()].filter((name) => !slotNames.has(name)).toSorted()
  const isAsBefore = (name: string) => {
    const [now, old] = [read.get(name)?.config, before.get(name)?.config]
    return old !== undefined && (now === undefined || isSameData(now, old))
  }
  for (const name of names) {
    const old = before.get(name)
    if (old !== undefined && isAsBefore(name)) accept(name, old.config)
  }
  for (const name of names) {
    const lane = read.get(name)
    if (lane?.config === undefined || isAsBefore(name)) continue
    const clash = lane.config.gpus.find((gpu) => owners.has(gpu) && owners.get(gpu) !== name)
    const old = before.get(name)
    if (clash === undefined) accept(name, lane.config)
    else {
      problems.set(name, clashText(clash, owners.get(clash) ?? '', name))
      // What it had may have been taken by nobody: it is not among what others were given yet.
      if (old?.config.gpus.every((gpu) => !owners.has(gpu)) === true) accept(name, old.config)
    }
  }
  for (const [name, { problem }] of read) {
    const found = [problem, problems.get(name), taken.get(name)].filter((text) => text !== undefined)
    if (found.length > 0) problems.set(name, found.join('; '))
  }
  const lanes = names.flatMap((name) => {
    const config = configs.get(name)
    return config === undefined ? [] : [{ name, config, problem: problems.get(name) }]
  })
  return { lanes, problems }
}

function clashText(gpu: number, owner: string, lane: string): string {
  return `GPU ${gpu} belongs to lane "${owner}" (lanes/${owner}.toml) and to lane "${lane}" (lanes/${lane}.toml): take it out of one`
}

import { isDeepStrictEqual } from 'node:util'
import type { NewEvent } from '../../contract/events.ts'
import type { LaneConfig } from '../../contract/lane-config.ts'
import { announce } from '../../events/announce.ts'
import type { Home } from '../../files/home.ts'
import { messageOf, toHal0Error } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { readModelRows } from '../models/models-file.ts'
import { findGpuClashes } from '../rules/lane-clashes.ts'
import { findNameClashes } from '../rules/names.ts'
import { readSlotOutlines } from '../slots/read-slot-outlines.ts'
import type { SlotOutline } from '../slots/rules/slot-outline.ts'
import { configError } from '../toml/mistake.ts'
import { laneFilePath, listLaneFiles } from './lane-file.ts'
import { acceptLanes, type ReadLane } from './rules/accept-lanes.ts'
import { inspectLane } from './rules/inspect-lane.ts'
import { readLaneData } from './write-lane.ts'

/** A lane as its file says, or as it said when it was last right. */
export interface LaneFile {
  readonly name: string
  readonly config: LaneConfig
  /** What is wrong with the file now; undefined = nothing. */
  readonly problem: string | undefined
}

/** The lane files of a home. Source: SPEC 2 "last good version", 12. */
export interface LiveLanes {
  /**
   * In order of name; the same array until something changes, and each lane the same object until it does. A lane whose file was never right
   * is not among them, nor one that has the name of a slot file: log, bus and validate tell it.
   */
  all(): readonly LaneFile[]
  find(name: string): LaneFile | undefined
  /** Reads those among `changed` (absolute paths) again, or all. Never rejects. */
  reload(changed?: readonly string[]): Promise<void>
}

export interface LiveLanesDeps {
  readonly home: Home
  readonly log: Log
  readonly bus: { publish(event: NewEvent): void }
}

/** Never rejects: a lane that cannot be used is told, and is not there. */
export async function openLiveLanes({ home, log, bus }: LiveLanesDeps): Promise<LiveLanes> {
  let lanes: readonly LaneFile[] = []
  let byName: ReadonlyMap<string, LaneFile> = new Map()
  /** As their files were last read. */
  let read: ReadonlyMap<string, ReadLane> = new Map()
  /** What is wrong, by what it is wrong with, so that it is told once. */
  let told: ReadonlyMap<string, string> = new Map()
  let reloading: Promise<void> = Promise.resolve()

  async function readAll(changed: readonly string[] | undefined): Promise<void> {
    const { names } = await listLaneFiles(home)
    const fresh = await Promise.all(
      names.map(async (name): Promise<[string, ReadLane]> => {
        const before = read.get(name)
        const isMeant = changed === undefined || changed.includes(laneFilePath(home, name))
        // A file with a problem is looked at again: what was in its way may be gone.
        if (before?.problem === undefined && before !== undefined && !isMeant) return [name, before]
        return [name, await readLane(home, name)]
      }),
    )
    read = new Map(fresh)
  }

  async function refresh(changed: readonly string[] | undefined): Promise<void> {
    const problems = new Map<string, string>()
    try {
      await readAll(changed)
    } catch (cause) {
      problems.set('lanes/', toHal0Error(cause).message || messageOf(cause))
    }
    const slots = read.size === 0 ? [] : await readSlotOutlines(home).catch(() => [])
    const taken = read.size === 0 ? new Map<string, string>() : await readNameClashes(home, slots, [...read.keys()])
    const slotNames = new Set(slots.map(({ name }) => name))
    const accepted = acceptLanes({ read, before: byName, taken, slotNames })
    for (const [name, problem] of accepted.problems) problems.set(`lanes/${name}.toml`, problem)
    const owners = accepted.lanes.map(({ name, config }) => ({
      name,
      file: laneFilePath(home, name),
      gpus: config.gpus,
    }))
    for (const { file, key, message } of findGpuClashes(owners, slots)) {
      if (key === 'gpu_index') problems.set(file, message)
    }
    show(accepted.lanes)
    tell(problems)
  }

  function show(next: readonly LaneFile[]): void {
    const kept = next.map((lane) => {
      const before = byName.get(lane.name)
      return isDeepStrictEqual(before, lane) && before !== undefined ? before : lane
    })
    const isSame = kept.length === lanes.length && kept.every((lane, nth) => lane === lanes[nth])
    if (isSame) return
    lanes = kept
    byName = new Map(kept.map((lane) => [lane.name, lane]))
  }

  function tell(problems: ReadonlyMap<string, string>): void {
    for (const [part, problem] of problems) {
      if (told.get(part) === problem) continue
      const name = laneOf(part)
      const what =
        name === undefined
          ? `${part}: ${problem}`
          : byName.has(name)
            ? `${part} is wrong, what it said before still counts: ${problem}`
            : `${part} is wrong, and there is no such lane until it is mended: ${problem}`
      announce({ log, bus }, { type: 'config.invalid', severity: 'error', source: 'config', message: what, data: {} })
    }
    for (const part of told.keys()) {
      const name = laneOf(part)
      // Whoever took the file away knows.
      if (problems.has(part) || (name !== undefined && !read.has(name))) continue
      const message = `${part} is right again`
      announce({ log, bus }, { type: 'config.restored', severity: 'info', source: 'config', message, data: {} })
    }
    told = problems
  }

  const reload = (changed?: readonly string[]): Promise<void> => {
    reloading = reloading.then(() =>
      refresh(changed).catch((cause: unknown) =>
        log.error({ reason: messageOf(cause) }, 'the lanes could not be read'),
      ),
    )
    return reloading
  }
  await reload()
  return { all: () => lanes, find: (name) => byName.get(name), reload }
}

/** The lane that a problem is about; undefined = something else. */
function laneOf(part: string): string | undefined {
  return /^lanes\/(.+)\.toml$/.exec(part)?.[1]
}

async function readLane(home: Home, name: string): Promise<ReadLane> {
  const file = laneFilePath(home, name)
  try {
    const inspection = inspectLane(await readLaneData(home, name), name)
    if (inspection.ok) return { config: inspection.config, problem: undefined }
    const mistakes = inspection.findings.map(({ key, message }) => ({ file, keyPath: key, expected: message }))
    return { config: undefined, problem: configError(mistakes).message }
  } catch (cause) {
    return { config: undefined, problem: toHal0Error(cause).message }
  }
}

/** Lane → who else has its name. A broken models.toml is told by others, and hides only its own clashes. */
async function readNameClashes(
  home: Home,
  slots: readonly SlotOutline[],
  lanes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const models = [...(await readModelRows(home).catch(() => new Map<string, unknown>())).keys()]
  const clashes = findNameClashes({ slots, lanes, models })
  return new Map(clashes.filter(({ name }) => lanes.includes(name)).map(({ name, message }) => [name, message]))
}

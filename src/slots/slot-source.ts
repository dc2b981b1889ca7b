import { defaultProfileOf, readProfile } from '../config/profiles/profiles-file.ts'
import { listSlotFiles, readSlotFile, type SlotConfig, slotFilePath } from '../config/slots/slot-file.ts'
import type { Device } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { type PoolReading, selectFreeGpus } from './admission/rules/memory-map.ts'
import type { LaneBindings, LaneSlotConfig } from './lane-bindings.ts'

/** Where slots come from: their files, and the lanes. The one place that knows of both. Source: SPEC 2, 12. */
export interface SlotSource {
  /** Every slot there is to be, files first, and the TOML files whose name can be no slot's. Errors: `config.invalid` when the folder cannot be read. */
  list(): Promise<{ readonly names: readonly string[]; readonly unfit: readonly string[] }>
  /** What a slot is to be; undefined = there is none. Errors: as `readSlotFile`. */
  read(name: string): Promise<SlotConfig | undefined>
  /** Does a lane drive this slot? From memory. Where a slot file has the name of a lane, it is the file's. */
  isLanes(name: string): boolean
  /**
   * The GPUs that a slot may use: a lane's its own, another's the one that its file names, else all that no lane owns. Undefined = every one.
   * Errors: `slot.config_error` (its file names a lane's GPU, or the lanes have left none).
   */
  gpusOf(config: Pick<SlotConfig, 'name' | 'device' | 'gpu_index'>): Promise<readonly number[] | undefined>
}

export interface SlotSourceDeps {
  readonly home: Home
  /** Absent = there are no lanes. */
  readonly lanes?: LaneBindings | undefined
  /** The cards of this machine, as the memory meter reads them. Absent = none is known. Never rejects. */
  readonly cards?: (() => Promise<readonly PoolReading[]>) | undefined
}

/** Who reads slots, and where from. */
export interface SourceDeps {
  readonly home: Home
  /** Absent = the slot files alone. */
  readonly source?: SlotSource | undefined
}

export function sourceOf({ home, source }: SourceDeps): SlotSource {
  return source ?? createSlotSource({ home })
}

const NO_LANES: LaneBindings = { names: () => [], configOf: () => undefined }

/** Without lanes: a slot is its file. */
export function createSlotSource({ home, lanes = NO_LANES, cards }: SlotSourceDeps): SlotSource {
  /** As last listed. */
  let files: ReadonlySet<string> = new Set()
  /** Cards stay; once some were seen they are not asked for again. */
  let seen: readonly PoolReading[] = []
  const laneOf = (name: string): LaneSlotConfig | undefined => (files.has(name) ? undefined : lanes.configOf(name))

  function ownersOn(device: Device): readonly { name: string; device: Device; gpus: readonly number[] }[] {
    if (!isGpu(device)) return []
    return lanes.names().flatMap((name) => {
      const lane = laneOf(name)
      const isOwner = lane !== undefined && isGpu(lane.config.device) && lane.gpus.length > 0
      return isOwner ? [{ name, device: lane.config.device, gpus: lane.gpus }] : []
    })
  }
  async function knownCards(): Promise<readonly PoolReading[]> {
    if (!seen.some(({ kind }) => kind !== 'host')) seen = (await cards?.()) ?? []
    return seen
  }

  return {
    list: async () => {
      const { names, unfit } = await listSlotFiles(home)
      files = new Set(names)
      return { names: [...names, ...lanes.names().filter((name) => laneOf(name) !== undefined)], unfit }
    },
    read: async (name) => {
      const lane = laneOf(name)
      if (lane === undefined) return readSlotFile(home, name)
      const { config, runner } = lane
      if (runner === undefined) return config
      // A profile that cannot be read is told by the launch.
      const profile = await readProfile(home, config.profile ?? defaultProfileOf(config.type)).catch(() => undefined)
      return profile?.body.runner === undefined ? { ...config, binary: runner } : config
    },
    isLanes: (name) => laneOf(name) !== undefined,
    gpusOf: async ({ name, device, gpu_index: pinned }) => {
      const lane = laneOf(name)
      if (lane !== undefined) return isGpu(device) && lane.gpus.length > 0 ? lane.gpus : undefined
      const owners = ownersOn(device)
      if (pinned !== undefined) {
        // The numbers are compared, as where files are checked.
        const owner = owners.find(({ gpus }) => gpus.includes(pinned))
        if (owner !== undefined) throw pinsLanesGpu(name, slotFilePath(home, name), pinned, owner.name)
        return [pinned]
      }
      if (owners.length === 0) return undefined
      const free = selectFreeGpus(await knownCards(), device, owners)
      if (free?.length === 0)
        throw noGpuLeft(
          name,
          device,
          owners.map((owner) => owner.name),
        )
      return free
    },
  }
}

function isGpu(device: Device): boolean {
  return device !== 'cpu' && device !== 'npu'
}

function pinsLanesGpu(slot: string, file: string, gpu: number, lane: string): Hal0Error {
  const message = `slot ${slot}: GPU ${gpu} belongs to lane "${lane}" (lanes/${lane}.toml), and the slot pins it (${file})`
  return Hal0Error.of('slot.config_error', message, {
    param: 'gpu_index',
    details: { slot, lane, gpu, remedy: `Choose another GPU, or none: \`hal0 slot edit ${slot} --gpu-index N\`.` },
  })
}

function noGpuLeft(slot: string, device: Device, lanes: readonly string[]): Hal0Error {
  const message = `slot ${slot}: every GPU for device ${device} belongs to a lane (${lanes.join(', ')}), and none is left for slots`
  const remedy = `Run it on the CPU (\`hal0 slot edit ${slot} --device cpu\`), book a lane, or take a GPU out of a lane's file.`
  return Hal0Error.of('slot.config_error', message, { param: 'device', details: { slot, lanes, remedy } })
}

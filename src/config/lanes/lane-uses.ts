import type { Device } from '../../contract/slot-row.ts'
import type { Home } from '../../files/home.ts'
import { readModelRows } from '../models/models-file.ts'
import { readConfigText } from '../toml/config-text.ts'
import { parseTomlData } from '../toml/toml-file.ts'
import { laneFilePath, listLaneFiles } from './lane-file.ts'
import { laneOutlineOf } from './rules/lane-outline.ts'

/** What a lane's file names as its default, as far as it can be read. */
export interface LaneUse {
  readonly lane: string
  /** '' = none. */
  readonly modelId: string
  /** The one it names, else the one that its model prefers. Undefined = neither says. */
  readonly profile: string | undefined
  /** Undefined = the one of the profile or the device. */
  readonly runner: string | undefined
  readonly device: Device
}

/**
 * Which model and profile is the default of each lane? In the order of names. A file with mistakes counts with what can still be read of it, so
 * that nothing is deleted from under a lane that someone is about to mend. Errors: `config.invalid` (the folder cannot be read).
 */
export async function readLaneUses(home: Home): Promise<readonly LaneUse[]> {
  const [{ names }, models] = await Promise.all([listLaneFiles(home), readModelRows(home).catch(() => new Map())])
  return Promise.all(
    names.map(async (lane): Promise<LaneUse> => {
      const file = laneFilePath(home, lane)
      const { modelId, profile, runner, device } = laneOutlineOf(lane, file, await readLeniently(file))
      return { lane, modelId, profile: profile ?? models.get(modelId)?.preferred_profile, runner, device }
    }),
  )
}

async function readLeniently(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readConfigText(path)
  if (text === 'absent' || !text.ok) return {}
  const parsed = parseTomlData(path, text.value)
  if (parsed.ok) return parsed.value
  const valueOf = (key: string) => new RegExp(`(?:^|[\\s{.,])${key}\\s*=\\s*(["'])(.*?)\\1`, 'm').exec(text.value)?.[2]
  return { default: { model: valueOf('model'), profile: valueOf('profile') } }
}

import type { Home } from '../../files/home.ts'
import { laneFilePath, listLaneFiles } from './lane-file.ts'
import { type LaneOutline, laneOutlineOf } from './rules/lane-outline.ts'
import { readLaneData } from './write-lane.ts'

/** Every lane of a home as far as its file can be read, in order of name. Errors: `config.invalid` (the folder cannot be read). */
export async function readLaneOutlines(home: Home): Promise<readonly LaneOutline[]> {
  const { names } = await listLaneFiles(home)
  return Promise.all(
    names.map(async (name) => {
      const data = await readLaneData(home, name).catch(() => ({}))
      return laneOutlineOf(name, laneFilePath(home, name), data)
    }),
  )
}

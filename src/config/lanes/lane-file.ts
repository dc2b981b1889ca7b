import { join } from 'node:path'
import type { Home } from '../../files/home.ts'
import { listNamedFiles } from '../slots/slot-file.ts'

export function lanesFolder(home: Home): string {
  return join(home.etc, 'lanes')
}

/** The lane files of a home, and the TOML files whose name cannot be a lane's. As `listSlotFiles`. Errors: `config.invalid`. */
export function listLaneFiles(
  home: Home,
): Promise<{ readonly names: readonly string[]; readonly unfit: readonly string[] }> {
  return listNamedFiles(lanesFolder(home))
}

export function laneFilePath(home: Home, name: string): string {
  return join(lanesFolder(home), `${name}.toml`)
}

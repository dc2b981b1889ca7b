import { rm } from 'node:fs/promises'
import { stringify } from 'smol-toml'
import { NAME_PATTERN } from '../../contract/names.ts'
import { writeFileWhole } from '../../files/atomic-write.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { readConfigText } from '../toml/config-text.ts'
import { configError } from '../toml/mistake.ts'
import type { Table } from '../toml/rules/table.ts'
import { parseTomlData } from '../toml/toml-file.ts'
import { writeToml } from '../toml/write-toml.ts'
import { laneFilePath } from './lane-file.ts'

/**
 * The only door through which hal0 writes a lane file; `payload` has passed `inspectLane`. Comments and order of a file that is there stay;
 * where they could not, the old file is kept as `<file>.bak-<n>`. The caller holds the write lock. Errors: `config.invalid` (the file that is
 * there cannot be read or is not TOML: it is not written over).
 */
export async function writeLaneFile(home: Home, name: string, payload: Table): Promise<void> {
  const file = laneFilePath(home, name)
  const before = await readConfigText(file)
  if (before === 'absent') return writeFileWhole(file, stringify(payload))
  if (!before.ok) throw configError([before.error])
  dataOf(file, before.value)
  await writeToml(file, before.value, payload)
}

/** Nothing happens when there is none. The caller holds the write lock. */
export async function removeLaneFile(home: Home, name: string): Promise<void> {
  await rm(laneFilePath(home, name), { force: true })
}

/** The keys of a lane's file as they are, right or wrong. Errors: `lane.not_found`, `config.invalid` (it cannot be read, it is not TOML). */
export async function readLaneData(home: Home, name: string): Promise<Table> {
  const file = laneFilePath(home, name)
  // A name that can be no lane's must not lead to another file.
  const text = NAME_PATTERN.test(name) ? await readConfigText(file) : 'absent'
  if (text === 'absent') {
    throw Hal0Error.of('lane.not_found', `there is no lane "${name}"`, {
      details: { lane: name, remedy: '`hal0 lane list` shows those there are.' },
    })
  }
  if (!text.ok) throw configError([text.error])
  return dataOf(file, text.value)
}

function dataOf(file: string, text: string): Table {
  const data = parseTomlData(file, text)
  if (data.ok) return data.value
  throw configError([data.error])
}

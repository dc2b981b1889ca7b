import { stat } from 'node:fs/promises'
import { stringify } from 'smol-toml'
import { writeFileWhole } from '../../files/atomic-write.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { readConfigText } from '../toml/config-text.ts'
import { editToml } from '../toml/edit-toml.ts'
import { configError } from '../toml/mistake.ts'
import { type Table } from '../toml/rules/table.ts'
import { parseTomlData } from '../toml/toml-file.ts'
import { writeToml } from '../toml/write-toml.ts'
import { removeSlotFile, slotFilePath } from './slot-file.ts'
import { type GuardedSlot, guardSlotPatch, guardSlotWrite, type SlotSource } from './slot-gate.ts'

/**
 * The only door through which hal0 writes a slot file; it takes nothing but what passed the gate. The comments and the order of a file
 * that is there stay; where they could not, the old file is kept as `<file>.bak-<n>`. The caller holds the write lock.
 * Errors: `config.invalid` (the file that is there cannot be read or is not TOML: it is not written over).
 */
export async function writeSlotFile(home: Home, slot: GuardedSlot): Promise<void> {
  const file = slotFilePath(home, slot.name)
  // Reading a private field proves that it is a real one, and the path that it is for this home.
  if (slot.file !== file) throw new Error(`${slot.file} was guarded, not ${file}`)
  if (slot.text !== undefined) return writeFileWhole(file, slot.text)
  const before = await readConfigText(file)
  if (before === 'absent') return writeFileWhole(file, stringify(slot.payload))
  if (!before.ok) throw configError([before.error])
  dataOf(home, slot.name, before.value)
  await writeToml(file, before.value, slot.payload)
}

/**
 * Changes keys of a slot's file: reads it, guards patch and outcome, writes. The file may have mistakes that the patch mends.
 * Errors: `slot.not_found`, `config.invalid` (it is not TOML), as `guardSlotPatch`. The caller holds the write lock.
 */
export async function patchSlotFile(
  home: Home,
  name: string,
  patch: unknown,
  source: SlotSource,
): Promise<GuardedSlot> {
  const current = await readSlotData(home, name)
  const guarded = guardSlotPatch(current, patch, { file: slotFilePath(home, name), name, source })
  await writeSlotFile(home, guarded)
  return guarded
}

/**
 * Gives a slot another name: writes its file under `to`, comments kept, and then removes the old one. The caller holds the write lock and
 * has made sure that the name is free. Errors: `slot.not_found`, `slot.exists`, as `guardSlotWrite`.
 */
export async function renameSlotFile(home: Home, from: string, to: string, source: SlotSource): Promise<GuardedSlot> {
  const text = await requireText(home, from)
  const target = slotFilePath(home, to)
  if ((await readConfigText(target)) !== 'absent') {
    throw Hal0Error.of('slot.exists', `slot ${to} has a file already (${target})`, { details: { slot: to } })
  }
  const guarded = guardSlotWrite({ ...dataOf(home, from, text), name: to }, { file: target, name: to, source })
  // What only its owner may read stays so under the new name.
  const { mode } = await stat(slotFilePath(home, from))
  await writeFileWhole(target, editToml(text, guarded.payload).text, mode & 0o777)
  await removeSlotFile(home, from)
  return guarded
}

/**
 * The keys of a slot's file as they are, unguarded: for showing and for patching, never for a launch.
 * Errors: `slot.not_found`, `config.invalid` (it cannot be read, it is not TOML).
 */
export async function readSlotData(home: Home, name: string): Promise<Table> {
  return dataOf(home, name, await requireText(home, name))
}

function dataOf(home: Home, name: string, text: string): Table {
  const data = parseTomlData(slotFilePath(home, name), text)
  if (data.ok) return data.value
  throw configError([data.error])
}

async function requireText(home: Home, name: string): Promise<string> {
  const file = slotFilePath(home, name)
  const text = await readConfigText(file)
  if (text === 'absent') {
    throw Hal0Error.of('slot.not_found', `there is no slot ${name} (${file})`, { details: { slot: name } })
  }
  if (!text.ok) throw configError([text.error])
  return text.value
}

import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { NAME_PATTERN } from '../../contract/names.ts'
import type { Home } from '../../files/home.ts'
import { errnoOf, messageOf } from '../../kernel/errors.ts'
import { readConfigText } from '../toml/config-text.ts'
import { configError } from '../toml/mistake.ts'
import type { SlotConfig } from './rules/slot-schema.ts'
import { type GuardedSlot, guardSlotText } from './slot-gate.ts'

export type { SlotConfig } from './rules/slot-schema.ts'

export function slotsFolder(home: Home): string {
  return join(home.etc, 'slots')
}

export function slotFilePath(home: Home, name: string): string {
  return join(slotsFolder(home), `${name}.toml`)
}

/**
 * The slot files of a home, and the TOML files beside them whose name cannot be a slot's. Both sorted; what editors and hal0 leave behind
 * (hidden files, `~`, `.swp`, `.bak`, `.bak-1`) is neither. Errors: `config.invalid` when the folder cannot be read; an absent one is empty.
 */
export async function listSlotFiles(
  home: Home,
): Promise<{ readonly names: readonly string[]; readonly unfit: readonly string[] }> {
  const { names, unfit } = await listNamedFiles(slotsFolder(home))
  return { names, unfit }
}

/** As `listSlotFiles`, for any folder of named TOML files. */
export async function listNamedFiles(
  folder: string,
): Promise<{ readonly names: readonly string[]; readonly unfit: readonly string[] }> {
  const entries = await readdir(folder).catch((cause: unknown) => {
    if (errnoOf(cause) === 'ENOENT') return []
    throw configError([{ file: folder, keyPath: '', expected: `a readable folder (${messageOf(cause)})` }])
  })
  const files = entries.filter((entry) => !entry.startsWith('.') && /\.toml$/i.test(entry)).toSorted()
  const isFit = (file: string) => file.endsWith('.toml') && NAME_PATTERN.test(basename(file, '.toml'))
  return {
    names: files.filter(isFit).map((file) => basename(file, '.toml')),
    unfit: files.filter((file) => !isFit(file)),
  }
}

/**
 * The slot's file as it is now, what is absent filled in; undefined = there is none.
 * Errors: as `guardSlotWrite` from disk; `config.invalid` when it cannot be read.
 */
export async function readSlotFile(home: Home, name: string): Promise<SlotConfig | undefined> {
  return (await readGuardedSlot(home, name))?.config
}

/** As `readSlotFile`, with the keys as the file says them (`payload`). */
export async function readGuardedSlot(home: Home, name: string): Promise<GuardedSlot | undefined> {
  const file = slotFilePath(home, name)
  const text = await readConfigText(file)
  if (text === 'absent') return undefined
  if (!text.ok) throw configError([text.error])
  return guardSlotText(text.value, { file, name, source: 'disk' })
}

/** Removes the slot's file; nothing happens when there is none. The caller holds the write lock (`withWriteLock`). */
export async function removeSlotFile(home: Home, name: string): Promise<void> {
  await rm(slotFilePath(home, name), { force: true })
}

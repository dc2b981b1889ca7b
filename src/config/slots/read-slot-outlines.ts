import type { Home } from '../../files/home.ts'
import { outlineOf, type SlotOutline } from './rules/slot-outline.ts'
import { listSlotFiles, slotFilePath } from './slot-file.ts'
import { readSlotData } from './write-slot.ts'

/** Every slot of a home as far as its file can be read, in order of name, without those named. Errors: `config.invalid` (the folder cannot be read). */
export async function readSlotOutlines(
  home: Home,
  without: ReadonlySet<string | undefined> = new Set(),
): Promise<readonly SlotOutline[]> {
  const { names } = await listSlotFiles(home)
  return Promise.all(
    names
      .filter((name) => !without.has(name))
      .map(async (name) => {
        const data = await readSlotData(home, name).catch(() => ({}))
        return outlineOf(name, slotFilePath(home, name), data)
      }),
  )
}

import { writeFileWhole } from '../files/atomic-write.ts'
import type { Home } from '../files/home.ts'
import { guardSlotWrite, slotFilePath } from './slot-file.ts'

/**
 * The only door through which hal0 writes a slot file. The text (comments included) passes the gate before anything is written.
 * Errors: as `guardSlotWrite`.
 */
export async function writeSlotFile(home: Home, name: string, text: string): Promise<void> {
  const path = slotFilePath(home, name)
  guardSlotWrite(path, name, text)
  await writeFileWhole(path, text)
}

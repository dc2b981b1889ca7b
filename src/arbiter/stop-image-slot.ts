import { isResident } from './rules/residence.ts'
import { STOP_MS } from './rules/timing.ts'
import type { SwitchHost } from './switch-host.ts'

/** Takes an image slot out of memory, though it is meant to stay there. False = it is still there after a while; the stop may go on. */
export async function stopImageSlot(host: SwitchHost, slot: string): Promise<boolean> {
  host.slots.stop(slot).catch(() => undefined)
  return host.until(() => !host.rowsOf('img').some((row) => row.name === slot && isResident(row)), STOP_MS)
}

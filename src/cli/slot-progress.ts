import type { Hal0Client } from '../client/client.ts'
import type { SlotActionResult } from '../client/slots.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { Output } from './output.ts'

/** How often the seconds on the terminal move on. */
const TICK_MS = 250

/**
 * Runs an operation on a slot and shows the slot's states meanwhile: one moving line on a terminal, a line per state in a pipe.
 * The display follows the daemon's state stream; when that breaks only the display suffers.
 */
export async function withSlotProgress(
  client: Hal0Client,
  slot: string,
  output: Output,
  operation: () => Promise<SlotActionResult>,
): Promise<SlotActionResult> {
  const ended = new AbortController()
  const startedMs = performance.now()
  let state = 'waiting'
  let reason = ''
  const show = () => output.progress(`slot ${slot}: ${state}, ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
  const ticker = setInterval(show, TICK_MS)
  const following = (async () => {
    for await (const record of client.slots.followState(slot, { signal: ended.signal })) {
      // Of an error it is told why, also where that is found out a moment later.
      const why = record.state === 'error' ? record.message : ''
      if (record.state === state && why === reason) continue
      state = record.state
      reason = why
      if (!output.json) output.step(`slot ${slot}: ${state}${why === '' ? '' : `, ${why}`}`)
      show()
    }
  })().catch(() => {})
  try {
    return await operation()
  } finally {
    clearInterval(ticker)
    ended.abort(new Error('the operation has ended'))
    await following
    output.progress(undefined)
  }
}

/** Seconds that the last load took, as text; '' when it is not known. */
export function loadTimeText(row: SlotRow): string {
  if (row.phases === null) return ''
  const ms = Object.values(row.phases).reduce((sum, phase) => sum + phase, 0)
  return ` in ${(ms / 1000).toFixed(1)} s`
}

import type { SlotRow } from '../contract/slot-row.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ComfyClient } from './ports.ts'
import { isResident } from './rules/residence.ts'
import { COMFY_ANSWER_MS } from './rules/timing.ts'

/** ComfyUI's queue, over all image slots that run. */
export type RenderQueue =
  /** None runs. */
  | { readonly kind: 'off' }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'read'; readonly running: number; readonly pending: number }

/** The outcome of `work`; rejects when it takes longer than `limitMs`. What it does later is nobody's business. */
export function withLimit<T>(clock: Clock, limitMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(limitMs, () => reject(new Error(`no answer within ${limitMs / 1000} s`)))
    void work.then(resolve, reject).finally(cancel)
  })
}

/** Looks at every image slot that may render: whatever is not certainly off. Never rejects. */
export async function readQueues(
  rows: readonly SlotRow[],
  comfyOf: (row: SlotRow) => ComfyClient,
  clock: Clock,
): Promise<RenderQueue> {
  const live = rows.filter(isResident)
  if (live.length === 0) return { kind: 'off' }
  try {
    const queues = await Promise.all(live.map((row) => withLimit(clock, COMFY_ANSWER_MS, comfyOf(row).queue())))
    const running = queues.reduce((sum, queue) => sum + queue.running, 0)
    return { kind: 'read', running, pending: queues.reduce((sum, queue) => sum + queue.pending, 0) }
  } catch {
    return { kind: 'unreadable' }
  }
}

/** ComfyUI's own figures; null when it is off or does not tell them. Never rejects. */
export async function readStats(
  row: SlotRow | undefined,
  comfyOf: (row: SlotRow) => ComfyClient,
  clock: Clock,
): Promise<Record<string, unknown> | null> {
  if (row === undefined || !isResident(row)) return null
  try {
    return { ...(await withLimit(clock, COMFY_ANSWER_MS, comfyOf(row).stats())) }
  } catch {
    return null
  }
}

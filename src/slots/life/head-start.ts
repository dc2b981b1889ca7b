import type { Clock } from '../../kernel/clock.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { SlotEffects } from '../effects.ts'
import type { Override, SlotBinding } from '../launch/read-binding.ts'

/** Read longer ago than this, files are read again. */
const FRESH_MS = SECOND_MS

/** What the start after a stop launches, read while the engine before it still ends. */
export interface HeadStart {
  /** The start that it is for: one with this very override. */
  readonly override: Override
  /** Undefined = nothing that could be used: whoever starts reads for himself, and tells what is wrong. Never rejects. */
  readonly bound: Promise<SlotBinding | undefined>
  /** Monotonic. */
  readonly readMs: number
}

/** Begins to read. Changes nothing, claims nothing. */
export function takeHeadStart(
  { clock, effects }: { readonly clock: Clock; readonly effects: SlotEffects },
  slot: string,
  override: Override,
): HeadStart {
  return { override, bound: readAhead(effects, slot, override), readMs: clock.monotonicMs() }
}

async function readAhead(effects: SlotEffects, slot: string, override: Override): Promise<SlotBinding | undefined> {
  const [{ bound, problem }, missing] = await Promise.all([
    effects.examine(slot, override, undefined),
    effects.missing.find(override.modelId).catch(() => UNKNOWN),
  ])
  const isWhole = problem === undefined && missing === undefined && bound?.modelId === override.modelId
  return isWhole ? bound : undefined
}

const UNKNOWN = 'unknown'

/** Is it for this start, and does it still count? */
export function usableHeadStart(
  headStart: HeadStart | undefined,
  override: Override | undefined,
  nowMs: number,
): HeadStart['bound'] | undefined {
  const isMeant = headStart !== undefined && headStart.override === override && nowMs - headStart.readMs <= FRESH_MS
  return isMeant ? headStart.bound : undefined
}

import type { SlotType } from '../../contract/slot-row.ts'

export type SanityMode = 'strict' | 'lenient' | 'off'

/** How strictly is an engine's output looked at before the slot is ready? Only language models are asked. Source: SPEC 5 `output_sanity`. */
export function chooseSanityMode(
  slot: { readonly type: SlotType; readonly output_sanity?: SanityMode | undefined },
  daemon: { readonly outputSanity: SanityMode; readonly isSanityOffEverywhere: boolean },
): SanityMode {
  if (slot.type !== 'llm' || daemon.isSanityOffEverywhere) return 'off'
  return slot.output_sanity ?? daemon.outputSanity
}

import type { SlotType } from '../../../contract/slot-row.ts'

/** The flags that make an engine pool; exactly the slots of these types have them. */
const MODE_FLAGS: ReadonlyMap<string, SlotType> = new Map([
  ['--embedding', 'embedding'],
  ['--embeddings', 'embedding'],
  ['--rerank', 'reranking'],
  ['--reranking', 'reranking'],
])

/**
 * Could this slot run this profile? Not when the profile's mode flag is another type's, or missing for a pooled one, nor when the slot's
 * own runner is another than the profile's. Source: SPEC 4 "adopts the model's preferred profile if it fits".
 */
export function fitsSlot(
  profile: { readonly flags: readonly string[]; readonly body: { readonly runner?: string | undefined } },
  slot: { readonly type: SlotType; readonly binary?: string | undefined },
): boolean {
  const modes = new Set(profile.flags.flatMap((flag) => MODE_FLAGS.get(flag) ?? []))
  const isPooled = slot.type === 'embedding' || slot.type === 'reranking'
  const fitsMode = isPooled ? modes.has(slot.type) : modes.size === 0
  const { runner } = profile.body
  return fitsMode && (runner === undefined || slot.binary === undefined || slot.binary === runner)
}

import type { EngineRoute } from '../../contract/engine-route.ts'
import type { SlotType } from '../../contract/slot-row.ts'

/** What an engine that pools still answers; everything else it refuses, or breaks on. */
const POOLED: Readonly<Partial<Record<SlotType, readonly EngineRoute[]>>> = {
  embedding: ['/v1/embeddings', '/tokenize'],
  reranking: ['/v1/rerank', '/tokenize'],
}

/**
 * May a slot of this type be asked on this route at all? A pooled one has an engine of its own kind: asked to chat, some builds of
 * llama-server die. Every other type leaves it to the engine. Source: SPEC 11 "Dedicated launch".
 */
export function typeServes(type: SlotType, route: EngineRoute): boolean {
  return POOLED[type]?.includes(route) ?? true
}

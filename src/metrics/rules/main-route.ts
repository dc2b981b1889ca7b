import type { SlotType } from '../../contract/slot-row.ts'

/** The route that a slot of a type is there for: its counters stand at zero before anybody asked. Source: SPEC 11, 17. */
export const MAIN_ROUTE: Readonly<Record<SlotType, string>> = {
  llm: '/v1/chat/completions',
  embedding: '/v1/embeddings',
  reranking: '/v1/rerank',
  transcription: '/v1/audio/transcriptions',
  tts: '/v1/audio/speech',
  image: '/v1/images/generations',
}

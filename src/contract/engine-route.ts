/** Routes of the gateway that an engine may have, by their path below the engine's root. */
export const ENGINE_ROUTES = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/rerank',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/images/generations',
  '/tokenize',
] as const
export type EngineRoute = (typeof ENGINE_ROUTES)[number]

/** Runner keys that run a llama-server of the user's. Source: SPEC 10. */
export const LLAMA_SERVER_KEYS = ['cpu', 'standard', 'cuda'] as const
export type LlamaServerKey = (typeof LLAMA_SERVER_KEYS)[number]

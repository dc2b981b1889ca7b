/** Runner keys that run a llama-server of the user's, and so have settings (`[runners.<key>]`). Source: SPEC 10. */
export const LLAMA_SERVER_KEYS = ['cpu', 'standard', 'cuda'] as const
export type LlamaServerKey = (typeof LLAMA_SERVER_KEYS)[number]

/** Does this runner have settings? */
export function isLlamaServerKey(key: string): boolean {
  return LLAMA_SERVER_KEYS.some((known) => known === key)
}

import type { ContextChoice } from '../../contract/slot-row.ts'

/** The largest window taken from a model's native one without being asked for. Source: SPEC 9. */
export const NATIVE_CTX_CAP_TOKENS = 32_768
/** The window when nothing says anything. Source: SPEC 9. */
export const FALLBACK_CTX_TOKENS = 8_192

/** Which context window does the slot launch with, and who decided? Source: SPEC 9 "Context". */
export function chooseContext(nativeCtxTokens: number | null): ContextChoice {
  if (nativeCtxTokens === null) return { ctxTokens: FALLBACK_CTX_TOKENS, source: 'fallback' }
  return { ctxTokens: Math.min(nativeCtxTokens, NATIVE_CTX_CAP_TOKENS), source: 'native' }
}

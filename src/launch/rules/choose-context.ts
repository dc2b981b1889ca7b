import type { ContextChoice } from '../../contract/slot-row.ts'

/** The largest window taken from a model's native one without being asked for. Source: SPEC 9. */
export const NATIVE_CTX_CAP_TOKENS = 32_768
/** The window when nothing says anything. Source: SPEC 9. */
export const FALLBACK_CTX_TOKENS = 8_192

/** Who may say something about the window; undefined or null = says nothing. All in tokens. */
export interface ContextWishes {
  /** `[tune] ctx_size`. */
  readonly slotCtxTokens?: number | undefined
  readonly profileCtxTokens?: number | undefined
  readonly nativeCtxTokens: number | null
  /** False for engines whose native window says nothing about what they can hold (FLM). */
  readonly isNativeUsed?: boolean
}

/** Which context window does the slot launch with, and who decided? Source: SPEC 9 "Context". */
export function chooseContext(wishes: ContextWishes): ContextChoice {
  const { slotCtxTokens, profileCtxTokens, nativeCtxTokens, isNativeUsed = true } = wishes
  if (slotCtxTokens !== undefined) return { ctxTokens: slotCtxTokens, source: 'slot' }
  if (profileCtxTokens !== undefined) return { ctxTokens: profileCtxTokens, source: 'profile' }
  if (nativeCtxTokens === null || !isNativeUsed) return { ctxTokens: FALLBACK_CTX_TOKENS, source: 'fallback' }
  return { ctxTokens: Math.min(nativeCtxTokens, NATIVE_CTX_CAP_TOKENS), source: 'native' }
}

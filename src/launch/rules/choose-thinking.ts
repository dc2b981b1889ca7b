import type { ThinkingChoice } from './launch-request.ts'

/** Who may say something about thinking. */
export interface ThinkingWishes {
  /** `[tune] enable_thinking`. */
  readonly slot?: boolean | undefined
  readonly profile?: boolean | undefined
  /** The value of the profile's last `--reasoning`; undefined = it has none. */
  readonly reasoning?: string | undefined
  /** The engine embeds or reranks. */
  readonly isPooled: boolean
}

/**
 * Do new requests think unless they say? `--reasoning on|off` among the profile's flags pins it; `auto` leaves it open. Then the slot, then
 * the profile, then the chat template. Source: SPEC 3 "[tune]".
 */
export function chooseThinking({ slot, profile, reasoning, isPooled }: ThinkingWishes): ThinkingChoice {
  if (isPooled) return { enabled: undefined, source: 'template', pinnedBy: undefined }
  if (reasoning === 'on' || reasoning === 'off') {
    return { enabled: reasoning === 'on', source: 'flags', pinnedBy: `--reasoning ${reasoning}` }
  }
  if (slot !== undefined) return { enabled: slot, source: 'slot', pinnedBy: undefined }
  if (profile !== undefined) return { enabled: profile, source: 'profile', pinnedBy: undefined }
  return { enabled: undefined, source: 'template', pinnedBy: undefined }
}

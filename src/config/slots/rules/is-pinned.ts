/** Anchors that other things rely on; an explicit value wins. Source: SPEC 7 "Eviction candidates". */
const PINNED_BY_DEFAULT: ReadonlySet<string> = new Set(['agent', 'utility'])

/** Is the slot exempt from eviction, and does deleting it need force? The NPU's one LLM is an anchor too. */
export function isPinned(config: {
  readonly name: string
  readonly pinned?: boolean | undefined
  readonly device: string
  readonly type: string
}): boolean {
  return config.pinned ?? (PINNED_BY_DEFAULT.has(config.name) || (config.device === 'npu' && config.type === 'llm'))
}

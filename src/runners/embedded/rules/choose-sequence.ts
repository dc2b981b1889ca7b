/** A free sequence: what its window holds, compared with a new prompt. */
export interface FreeSequence {
  readonly id: number
  /** Tokens at the beginning that the new prompt shares with what the window holds. */
  readonly sharedTokens: number
  /** Rises with every use; 0 = never used. */
  readonly lastUse: number
}

/** A smaller overlap is not worth throwing another conversation's window away. */
const WORTH_SHARING = 0.1

/**
 * Which free sequence takes a prompt: the one that already holds most of its beginning, else the least recently used.
 * `free` must not be empty.
 */
export function chooseSequence(free: readonly FreeSequence[], promptTokens: number): number {
  let best: FreeSequence | undefined
  for (const candidate of free) {
    if (best === undefined || candidate.sharedTokens > best.sharedTokens) best = candidate
  }
  if (best !== undefined && best.sharedTokens > promptTokens * WORTH_SHARING) return best.id
  const oldest = free.toSorted((a, b) => a.lastUse - b.lastUse || a.id - b.id)[0]
  return oldest?.id ?? 0
}

import type { Holder } from './memory-limits.ts'

/** Who goes first: the lowest priority, then the least recently used, then by name so that the order is always the same. */
export function compareForEviction(a: Holder, b: Holder): number {
  return a.priority - b.priority || a.lastUsedMs - b.lastUsedMs || (a.slot < b.slot ? -1 : Number(a.slot > b.slot))
}

/** May memory be asked of it at all? Never of a pinned one or a lane's; one that stops already gives it back anyway. */
export function canGiveWay(holder: Holder): boolean {
  return holder.standing === 'stopping' || (!holder.pinned && !holder.isLanes)
}

/** Would it be evicted now, without waiting for anyone? */
export function isEvictable(holder: Holder): boolean {
  return holder.standing === 'quiet' && canGiveWay(holder)
}

/**
 * In which order is memory asked of them? What comes back anyway, then quiet ones, then busy ones (those that make way already first, so
 * that a plan stays the same while it waits), then those that still load; in each of these as `compareForEviction`.
 */
export function orderCandidates(holders: readonly Holder[], claimed: ReadonlySet<string>): readonly Holder[] {
  return holders
    .filter((holder) => canGiveWay(holder))
    .toSorted((a, b) => rankOf(a, claimed) - rankOf(b, claimed) || compareForEviction(a, b))
}

/**
 * Which of the candidates have to go until `isEnough`? The first in order, then without those that turned out to be unnecessary, the last
 * in order spared first: without any one of the chosen it is not enough. Undefined = all of them are not enough.
 * `isEnough` must not become false when more are gone. Source: SPEC 7 "Eviction candidates", "Pre-load admission".
 */
export function selectVictims(
  candidates: readonly Holder[],
  isEnough: (gone: ReadonlySet<string>) => boolean,
): readonly Holder[] | undefined {
  const gone = new Set<string>()
  const chosen: Holder[] = []
  for (const candidate of candidates) {
    if (isEnough(gone)) break
    gone.add(candidate.slot)
    chosen.push(candidate)
  }
  if (!isEnough(gone)) return undefined
  for (const candidate of chosen.toReversed()) {
    gone.delete(candidate.slot)
    if (!isEnough(gone)) gone.add(candidate.slot)
  }
  return chosen.filter((candidate) => gone.has(candidate.slot))
}

const RANK = { stopping: 0, quiet: 1, busy: 3, loading: 4 } as const

function rankOf(holder: Holder, claimed: ReadonlySet<string>): number {
  const isClaimed = claimed.has(holder.slot) && (holder.standing === 'busy' || holder.standing === 'loading')
  return isClaimed ? 2 : RANK[holder.standing]
}

/** What identifies the state of each watched file, by absolute path; a path that is absent has no file. */
export type Signatures = ReadonlyMap<string, string>

/** What a watcher knows between two looks. */
export interface WatchState {
  /** What was told last. */
  readonly told: Signatures
  /** The last regular look. */
  readonly seen: Signatures
}

export interface Settled {
  /** Paths that differ from what was told and are worth it: made, changed or removed; sorted. */
  readonly changed: readonly string[]
  /** The state once those were told. */
  readonly next: WatchState
}

/**
 * Which changes are worth telling? `now`: the look just taken. A regular look tells those that were the same in the one before it: a file that
 * is being written in place comes to rest first. A look out of turn says which paths are `finished`, because their writer is done: it tells those
 * (`all` = every change) and leaves the others to the regular looks. Source: SPEC 2.
 */
export function selectSettled(state: WatchState, now: Signatures, finished?: ReadonlySet<string> | 'all'): Settled {
  const told = new Map(state.told)
  const seen = new Map(finished === undefined || finished === 'all' ? now : state.seen)
  const changed: string[] = []
  for (const path of new Set([...state.told.keys(), ...now.keys()])) {
    const current = now.get(path)
    if (current === state.told.get(path)) continue
    const isDone = finished === undefined ? current === state.seen.get(path) : finished === 'all' || finished.has(path)
    if (!isDone) continue
    changed.push(path)
    put(told, path, current)
    put(seen, path, current)
  }
  return { changed: changed.toSorted(), next: { told, seen } }
}

function put(signatures: Map<string, string>, path: string, signature: string | undefined): void {
  if (signature === undefined) signatures.delete(path)
  else signatures.set(path, signature)
}

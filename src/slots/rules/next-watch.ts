import { SECOND_MS } from '../../kernel/units.ts'

/** What one look at a live engine found (`LiveLook`). */
export type Look = 'alive' | 'refused' | 'silent' | 'unseen'

/** What the live watch remembers between two looks at one engine. */
export interface WatchState {
  /** Looks in a row that count against it. */
  readonly silent: number
}

export const WATCH_BEGIN: WatchState = { silent: 0 }

/** So many looks in a row without an answer, and the engine is given up. Source: SPEC 5 "Live watch". */
export const MAX_SILENT_LOOKS = 5

/** An engine that moved bytes for a request so lately is alive, whatever its health route says. Source: SPEC 5 "Live watch". */
export const MOVED_WITHIN_MS = 30 * SECOND_MS

/** `suspect`: it goes on being watched. `dead`: the process is to be stopped. `reason`: continues "the engine …"; '' when fine. */
export interface WatchDecision {
  readonly state: WatchState
  readonly verdict: 'fine' | 'suspect' | 'dead'
  readonly reason: string
}

/**
 * What does this look at a live engine mean?
 * 1. alive: fine, and what was before is forgotten.
 * 2. refused: nobody listens on its port any more: dead.
 * 3. silent while a lease moved bytes less than 30 s ago: fine, as 1: bytes are a better proof than any look.
 * 4. silent: suspect; for the fifth time in a row: dead.
 * 5. unseen: hal0 itself could not look, which says nothing: as before.
 * Both times are monotonic ms; `lastMovedMs` undefined = no lease has moved bytes yet. Source: SPEC 5 "Live watch".
 */
export function nextWatch(
  state: WatchState,
  look: Look,
  { nowMs, lastMovedMs }: { readonly nowMs: number; readonly lastMovedMs: number | undefined },
): WatchDecision {
  if (look === 'alive') return { state: WATCH_BEGIN, verdict: 'fine', reason: '' }
  if (look === 'unseen') return { state, verdict: 'fine', reason: '' }
  if (look === 'refused') return { state, verdict: 'dead', reason: 'refuses connections' }
  if (lastMovedMs !== undefined && nowMs - lastMovedMs < MOVED_WITHIN_MS) {
    return { state: WATCH_BEGIN, verdict: 'fine', reason: '' }
  }
  const silent = state.silent + 1
  const reason = `gave no sign of health, ${silent} ${silent === 1 ? 'time' : 'times in a row'}`
  return { state: { silent }, verdict: silent >= MAX_SILENT_LOOKS ? 'dead' : 'suspect', reason }
}

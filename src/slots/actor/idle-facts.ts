import { SECOND_MS } from '../../kernel/units.ts'
import type { IdleFacts } from '../rules/next-idle.ts'
import type { SlotParts } from './slot-parts.ts'

/** What a slot is doing, as far as idling goes. Source: SPEC 7 "Idle". */
export function idleFactsOf({ board, deps, evictions, files, isLanes, life }: SlotParts): IdleFacts {
  const { phase } = life
  const { idle_timeout_s: idleTimeoutS, unload_after_s: unloadAfterS } = files.bound?.config ?? {}
  const { settings } = deps
  return {
    isQuiet: phase.kind === 'up' && phase.hasModel && evictions.isQuiet && !isLanes(),
    isIdle: board.state === 'idle',
    quietSinceMs: evictions.lastUsedMs,
    idleTimeoutMs: idleTimeoutS === undefined ? settings.idleTimeoutMs : idleTimeoutS * SECOND_MS,
    unloadAfterMs: unloadAfterS === undefined ? settings.unloadAfterMs : unloadAfterS * SECOND_MS,
    isPinned: evictions.isPinned,
  }
}

import type { ArbiterState } from '../contract/arbiter.ts'
import { isDispatchable, type SlotRow } from '../contract/slot-row.ts'
import type { Publisher } from '../events/bus.ts'
import type { Log } from '../kernel/log.ts'
import { announce } from './announce.ts'
import type { Groups } from './rules/choose-groups.ts'
import { chooseStart } from './rules/choose-start.ts'
import { isResident } from './rules/residence.ts'
import { MODE_TIMING } from './rules/timing.ts'
import type { StoredState } from './state-file.ts'

/** Where a restarted daemon begins. */
export interface StartState {
  readonly state: ArbiterState
  /** For so long the mode is still kept. */
  readonly keepMs: number
  /** The last image counts as long ago: the switch back goes on. */
  readonly goesOn: boolean
}

/** What an earlier daemon left, held against the slots as they are. Log and bus are told what it means. */
export function startStateOf(
  stored: StoredState,
  rows: readonly SlotRow[],
  groups: Groups,
  world: { readonly nowMs: number; readonly log: Log; readonly bus: Publisher; readonly keepMs?: number },
): StartState {
  const { nowMs, keepMs = MODE_TIMING.keepMs } = world
  const fresh: ArbiterState = { mode: 'llm', switching_to: null, pinned: false, since_ms: nowMs, saved_slots: [] }
  if (stored.kind === 'unfit') {
    const kept = stored.keptAs === undefined ? '' : `; the file is kept as ${stored.keptAs}`
    const message = `the state of the GPU arbiter cannot be used, it begins afresh: ${stored.reason}${kept}`
    announce(world, 'warning', 'arbiter.state_reset', message, {
      reason: stored.reason,
      kept_as: stored.keptAs ?? null,
    })
  }
  if (stored.kind !== 'found') return { state: fresh, keepMs: 0, goesOn: false }

  const before = stored.state
  const isUp = (names: readonly string[]) => rows.some((row) => names.includes(row.name) && isResident(row))
  const { mode, reason, goesOn } = chooseStart(before, { isImageUp: isUp(groups.img), isLlmUp: isUp(groups.llm) })
  const isSame = mode === before.mode
  const serving = new Set(rows.filter(isDispatchable).map((row) => row.name))
  const saved = before.saved_slots.filter((name) => mode === 'img' || !serving.has(name))
  // The clock may have been set back meanwhile.
  const sinceMs = isSame ? Math.min(before.since_ms, nowMs) : nowMs
  const state: ArbiterState = {
    mode,
    switching_to: null,
    // A pin is for a mode that is on: after a reboot without the image slot it would lock images out.
    pinned: before.pinned && isSame,
    since_ms: sinceMs,
    saved_slots: saved,
  }
  if (!isSame || before.switching_to !== null) {
    const data = { from: before.mode, switching_to: before.switching_to, to: mode, reason, saved_slots: saved }
    announce(world, 'info', 'arbiter.resumed', `after the restart of hal0: ${reason}`, data)
  }
  return { state, keepMs: goesOn || !isSame ? 0 : Math.max(0, sinceMs + keepMs - nowMs), goesOn }
}

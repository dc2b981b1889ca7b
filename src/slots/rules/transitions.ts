import type { SlotState } from '../../contract/slot-state.ts'

/** Which state may follow which on request. Source: SPEC 4, the table. */
export const LEGAL_TRANSITIONS: Readonly<Record<SlotState, readonly SlotState[]>> = {
  offline: ['pulling', 'starting'],
  pulling: ['starting', 'error', 'offline'],
  starting: ['warming', 'error', 'offline'],
  warming: ['ready', 'idle', 'error', 'offline'],
  ready: ['serving', 'idle', 'unloading', 'error'],
  serving: ['ready', 'idle', 'error'],
  idle: ['serving', 'unloading', 'ready'],
  unloading: ['offline', 'error'],
  error: ['offline', 'pulling', 'starting'],
}

/** States that an observation (a process died, an engine was found again) may set from anywhere. Source: SPEC 4. */
export const OBSERVABLE_STATES: readonly SlotState[] = ['offline', 'error', 'ready', 'warming']

export function isLegalTransition(from: SlotState, to: SlotState): boolean {
  return LEGAL_TRANSITIONS[from].includes(to)
}

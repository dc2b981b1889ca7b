import type { SlotState } from '../../contract/slot-state.ts'
import { isLegalTransition, OBSERVABLE_STATES } from './transitions.ts'

/** What can happen to a slot's state. The first list is requested, the second observed. */
export const REQUESTED_EVENTS = [
  'pull_begun',
  'start_begun',
  'process_started',
  'became_ready',
  'no_model_listed',
  'first_lease_taken',
  'last_lease_ended',
  'went_quiet',
  'stop_begun',
  'stopped',
  'load_failed',
  'stop_failed',
] as const
export const OBSERVED_EVENTS = ['process_died', 'process_vanished', 'found_ready', 'found_warming'] as const

export type RequestedEvent = (typeof REQUESTED_EVENTS)[number]
export type ObservedEvent = (typeof OBSERVED_EVENTS)[number]
export type SlotEvent = RequestedEvent | ObservedEvent

export type Transition =
  | { readonly kind: 'move'; readonly to: SlotState; readonly forced: boolean }
  /** Illegal: `slot.illegal_transition` if a person asked, a fault of hal0 if hal0 did. */
  | { readonly kind: 'illegal' }

interface EventRule {
  readonly to: SlotState
  /** The states the event may meet; the table of SPEC 4 must allow each of them too. Undefined = observed: any. */
  readonly from?: readonly SlotState[]
}

const RULES: Readonly<Record<SlotEvent, EventRule>> = {
  pull_begun: { to: 'pulling', from: ['offline', 'error'] },
  start_begun: { to: 'starting', from: ['offline', 'error', 'pulling'] },
  process_started: { to: 'warming', from: ['starting'] },
  became_ready: { to: 'ready', from: ['warming', 'idle'] },
  no_model_listed: { to: 'idle', from: ['warming'] },
  first_lease_taken: { to: 'serving', from: ['ready', 'idle'] },
  last_lease_ended: { to: 'ready', from: ['serving'] },
  went_quiet: { to: 'idle', from: ['ready'] },
  stop_begun: { to: 'unloading', from: ['ready', 'idle'] },
  stopped: { to: 'offline', from: ['unloading', 'starting', 'warming', 'pulling', 'error'] },
  load_failed: { to: 'error', from: ['pulling', 'starting', 'warming'] },
  stop_failed: { to: 'error', from: ['unloading'] },
  process_died: { to: 'error' },
  process_vanished: { to: 'offline' },
  found_ready: { to: 'ready' },
  found_warming: { to: 'warming' },
}

/** Where does `event` lead from `state`? An observation that the table does not foresee is marked `forced`. Source: SPEC 4. */
export function nextState(state: SlotState, event: SlotEvent): Transition {
  const rule = RULES[event]
  const legal = isLegalTransition(state, rule.to)
  if (rule.from === undefined) {
    if (!OBSERVABLE_STATES.includes(rule.to)) return { kind: 'illegal' }
    return { kind: 'move', to: rule.to, forced: !legal }
  }
  return legal && rule.from.includes(state) ? { kind: 'move', to: rule.to, forced: false } : { kind: 'illegal' }
}

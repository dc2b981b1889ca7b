import type { ARBITER_MODES } from '../../contract/arbiter.ts'
import { MODE_TIMING, QUEUE_FRESH_MS, QUEUE_POLL_MS } from './timing.ts'

type Mode = (typeof ARBITER_MODES)[number]

/** ComfyUI's own queue, as it was last seen. Times are monotonic ms. */
export type QueueReading =
  /** No image slot runs, so nothing renders. */
  | { readonly kind: 'off' }
  | { readonly kind: 'unread' }
  | { readonly kind: 'unreadable'; readonly atMs: number }
  /** `renders`: running and pending ones of all image slots. */
  | { readonly kind: 'read'; readonly atMs: number; readonly renders: number }

/** All that decides which group holds the memory, while no switch is under way. Times are monotonic ms. */
export interface ModeSnapshot {
  readonly mode: Mode
  /** Until then the mode is kept. */
  readonly keptUntilMs: number
  readonly pinned: boolean
  /** The mode that a person waits for. */
  readonly wish: Mode | undefined
  /** Requests that wait for their mode. */
  readonly waiting: Readonly<Record<Mode, number>>
  /** Image requests that run. */
  readonly rendering: number
  readonly queue: QueueReading
  /** When an image request or a render was last seen to run. */
  readonly lastImageMs: number
  /** Not before this: freeing the memory of images has just failed. */
  readonly retryMs: number
}

/** What to do now, why, and when to ask again although nothing happened. `refuse`: those who wait for this mode wait in vain. */
export interface ModeDecision {
  readonly action: 'stay' | 'switch' | 'read_queue'
  readonly reason: string
  readonly reviewAtMs: number | undefined
  readonly refuse: 'pinned' | 'queue_unreadable' | undefined
}

/** Which group should hold the memory, and may it change hands now? Source: SPEC 8 "Arbiter". */
export function chooseMode(snapshot: ModeSnapshot, nowMs: number, quietMs: number = MODE_TIMING.quietMs): ModeDecision {
  return snapshot.mode === 'llm' ? leaveLlm(snapshot, nowMs) : leaveImg(snapshot, nowMs, quietMs)
}

function leaveLlm({ wish, waiting, pinned, keptUntilMs }: ModeSnapshot, nowMs: number): ModeDecision {
  if (wish === 'img') return act('switch', 'a person asked for image mode')
  if (waiting.img === 0) return stay('nobody waits for images')
  if (pinned) return { ...stay('the mode is pinned'), refuse: 'pinned' }
  if (nowMs < keptUntilMs) return stay('a mode is kept for a while before it changes', keptUntilMs)
  return act('switch', 'an image request waits')
}

function leaveImg(snapshot: ModeSnapshot, nowMs: number, quietMs: number): ModeDecision {
  const { wish, waiting, pinned, rendering, queue, keptUntilMs, lastImageMs, retryMs } = snapshot
  const isAsked = wish === 'llm'
  const isWanted = isAsked || waiting.llm > 0
  if (pinned && !isAsked) return { ...stay('the mode is pinned'), refuse: waiting.llm > 0 ? 'pinned' : undefined }
  if (!isWanted && rendering > 0) return stay('an image request runs')
  // Someone who waits is told at once what the queue says, also while image requests run.
  if (!isFresh(queue, nowMs)) return act('read_queue', 'what ComfyUI does is not known')
  const pollMs = queue.kind === 'off' || queue.kind === 'unread' ? undefined : queue.atMs + QUEUE_POLL_MS
  if (queue.kind === 'unreadable') {
    const refuse = isWanted ? ('queue_unreadable' as const) : undefined
    return { ...stay("ComfyUI's queue cannot be read, and a render is never cut short", pollMs), refuse }
  }
  if (rendering > 0) return stay('an image request runs', pollMs)
  if (queue.kind === 'read' && queue.renders > 0) return stay('ComfyUI renders', pollMs)
  if (nowMs < retryMs) return stay('the memory of images could not be freed', earliest(retryMs, pollMs))
  if (isAsked) return act('switch', 'a person asked for the language models')
  if (nowMs < keptUntilMs) return stay('a mode is kept for a while before it changes', earliest(keptUntilMs, pollMs))
  if (isWanted) return act('switch', 'a request for a language model waits')
  const quietAtMs = lastImageMs + quietMs
  if (nowMs < quietAtMs) return stay('an image was rendered a moment ago', earliest(quietAtMs, pollMs))
  return act('switch', 'no image is rendered any more')
}

function isFresh(queue: QueueReading, nowMs: number): boolean {
  if (queue.kind === 'off') return true
  return queue.kind !== 'unread' && nowMs < queue.atMs + QUEUE_FRESH_MS
}

function stay(reason: string, reviewAtMs?: number): ModeDecision {
  return { action: 'stay', reason, reviewAtMs, refuse: undefined }
}

function act(action: 'switch' | 'read_queue', reason: string): ModeDecision {
  return { action, reason, reviewAtMs: undefined, refuse: undefined }
}

function earliest(atMs: number, otherMs: number | undefined): number {
  return otherMs === undefined ? atMs : Math.min(atMs, otherMs)
}

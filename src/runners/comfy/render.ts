import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../kernel/clock.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { anyOf } from './any-of.ts'
import { type ComfyHttp, JSON_LIMIT_BYTES, jsonOf } from './comfy-http.ts'
import { fetchImages } from './fetch-images.ts'
import { lookAtRender, removeRender } from './look-at-render.ts'
import type { Workflow } from './rules/build-workflow.ts'
import { nextPollDelayMs } from './rules/poll-delay.ts'
import { type ComfyImage, type RenderFailure, readRefusal, readSubmitted } from './rules/read-answers.ts'

/** Who may end the wait for a render. */
export interface RenderSignals {
  /** Nobody wants the pictures any more: taken out of ComfyUI's queue if it has not begun, else followed to its end. */
  readonly left: AbortSignal
  /** Not to be followed any more, at once: the engine goes, or hal0 does. */
  readonly cut: AbortSignal
}

/** How a render ended, ComfyUI's part of it. */
export type RenderEnd =
  /** PNG files, at least one. */
  | { readonly kind: 'images'; readonly images: readonly Buffer[] }
  /** ComfyUI did not take the graph, or failed at it, and says so in good order. */
  | { readonly kind: 'refused' | 'failed'; readonly error: Hal0Error }
  /** It broke its part: it is gone, has forgotten the render, or answers garbage. */
  | { readonly kind: 'lost'; readonly error: Hal0Error }
  /** Nobody listens there: nothing was sent. */
  | { readonly kind: 'unread'; readonly error: Hal0Error }

export interface RenderDeps {
  readonly call: ComfyHttp
  readonly clock: Clock
  /** An error that begins with whose ComfyUI it is. */
  readonly fail: (what: string, facts?: Readonly<Record<string, unknown>>, cause?: unknown) => Hal0Error
}

/** ComfyUI may be mute for long while it loads a model, since its interpreter does one thing at a time. */
const MUTE_LIMIT_MS = 120 * SECOND_MS
/** Who was cut off while ComfyUI took the graph waits so long for the id under which to take it back. */
const LAST_ANSWER_MS = 2 * SECOND_MS
/** A process that is gone refuses every time; a busy one never. */
const REFUSALS_OF_THE_DEAD = 3
/** The engine is well; what it was asked for does not fit it. */
const REFUSED = 'Change what ComfyUI names: size, steps, or the checkpoint, which is the model of the image slot.'
const FAILED = 'Look at `hal0 slot logs`; where memory ran out, ask for a smaller size or fewer images.'

/**
 * Hands ComfyUI the graph and follows the render until ComfyUI works on it no more, however long that takes: a render is never cut
 * short. Resolves with its end; rejects with `cut.reason` at once, and with `left.reason` when ComfyUI is done with it. Source: SPEC 8.
 */
export async function render(workflow: Workflow, signals: RenderSignals, deps: RenderDeps): Promise<RenderEnd> {
  const { left, cut } = signals
  for (const signal of [cut, left]) if (signal.aborted) throw signal.reason
  const submitted = await submitUnlessCut(workflow, cut, deps)
  if ('kind' in submitted) return submitted
  const end = await follow(submitted.id, signals, deps)
  if ('error' in end) return end
  return await fetchImages(end.images, signals, deps)
}

type Followed = Exclude<RenderEnd, { kind: 'images' }> | { readonly images: readonly ComfyImage[] }

type Submitted = Exclude<RenderEnd, { kind: 'images' }> | { readonly id: string }

/** Rejects with `cut.reason` at once; what ComfyUI takes all the same is then taken out of its queue again. */
async function submitUnlessCut(workflow: Workflow, cut: AbortSignal, deps: RenderDeps): Promise<Submitted> {
  const { call, clock } = deps
  const ending = new AbortController()
  const submitting = submit(workflow, ending.signal, deps)
  let onCut = (): void => {}
  const cutOff = new Promise<void>((resolve) => {
    onCut = resolve
  })
  cut.addEventListener('abort', onCut)
  await Promise.race([submitting, cutOff])
  cut.removeEventListener('abort', onCut)
  if (!cut.aborted) return await submitting
  const cancel = clock.setTimer(LAST_ANSWER_MS, () => ending.abort())
  void submitting.then(async (submitted) => {
    cancel()
    if ('id' in submitted) await removeRender(submitted.id, call)
  })
  throw cut.reason
}

async function submit(workflow: Workflow, signal: AbortSignal, { call, fail }: RenderDeps): Promise<Submitted> {
  const answer = await call({
    method: 'POST',
    path: '/prompt',
    body: { prompt: workflow, client_id: randomUUID() },
    timeoutMs: MUTE_LIMIT_MS,
    limitBytes: JSON_LIMIT_BYTES,
    signal,
  })
  if (!answer.ok) {
    const { kind, message, cause } = answer.error
    return { kind: kind === 'refused' ? 'unread' : 'lost', error: fail(message, {}, cause) }
  }
  const { status } = answer.value
  const json = jsonOf(answer.value)
  const id = status === 200 ? readSubmitted(json) : undefined
  if (id !== undefined) return { id }
  const refusal = readRefusal(json)
  if (refusal !== undefined) {
    const { message, nodes } = refusal
    return { kind: 'refused', error: fail(`refused the render: ${message}`, { status, nodes, remedy: REFUSED }) }
  }
  return { kind: 'lost', error: fail(`answered POST /prompt with status ${status} and something else than it should`) }
}

async function follow(id: string, { left, cut }: RenderSignals, deps: RenderDeps): Promise<Followed> {
  const { clock, fail } = deps
  const either = anyOf(left, cut)
  let heardMs = clock.monotonicMs()
  let refusals = 0
  let wasRunning = false
  let isRemoved = false
  try {
    for (let looks = 1; ; looks++) {
      const seen = await lookAtRender(id, cut, deps.call)
      if (cut.aborted) {
        // Who stops following leaves nothing behind that has not begun.
        if (!wasRunning) void removeRender(id, deps.call)
        throw cut.reason
      }
      switch (seen.kind) {
        case 'images':
        case 'failed':
          if (left.aborted) throw left.reason
          return seen.kind === 'images' ? seen : { kind: 'failed', error: failedError(seen.failure, fail) }
        case 'gone':
          if (left.aborted) throw left.reason
          return { kind: 'lost', error: fail('has forgotten the render: it was restarted, or its queue was emptied') }
        case 'queued':
          if (!left.aborted) break
          await removeRender(id, deps.call)
          // The next look says whether it was still in time.
          if (isRemoved) break
          isRemoved = true
          continue
        case 'running':
          wasRunning = true
          break
        case 'refused':
          refusals++
          if (refusals >= REFUSALS_OF_THE_DEAD) return { kind: 'lost', error: fail('went away while it rendered') }
          break
        case 'unfit':
        case 'lost':
        case 'timed_out':
        case 'too_long':
        case 'ended':
          if (clock.monotonicMs() - heardMs < MUTE_LIMIT_MS) break
          return { kind: 'lost', error: fail(`has said nothing of the render for ${MUTE_LIMIT_MS / SECOND_MS} s`) }
      }
      if (seen.kind !== 'refused') refusals = 0
      if (seen.kind === 'queued' || seen.kind === 'running') heardMs = clock.monotonicMs()
      await sleep(clock, nextPollDelayMs(looks), left.aborted ? cut : either.signal)
    }
  } finally {
    either.forget()
  }
}

function failedError({ message, node, class: type }: RenderFailure, fail: RenderDeps['fail']): Hal0Error {
  const where = node === undefined ? '' : ` in node ${node}${type === undefined ? '' : ` (${type})`}`
  return fail(`failed to render${where}: ${message}`, {
    ...(node === undefined ? {} : { node }),
    ...(type === undefined ? {} : { class: type }),
    remedy: FAILED,
  })
}

import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { type ComfyCall, createComfyHttp, JSON_LIMIT_BYTES, jsonOf } from './comfy-http.ts'
import { type RenderEnd, type RenderSignals, render } from './render.ts'
import type { Workflow } from './rules/build-workflow.ts'
import { readCheckpoints, readQueue } from './rules/read-answers.ts'

/** One ComfyUI, by its own HTTP routes. Its first three methods are what the arbiter asks for. Source: SPEC 8. */
export interface ComfyEngine {
  /** Renders that run or wait in ComfyUI's own queue, whoever asked for them. Errors: `dispatch.upstream_unavailable`. */
  queue(): Promise<{ readonly running: number; readonly pending: number }>
  /** Lets go of the diffusion models and their memory. Errors: `dispatch.upstream_unavailable`. */
  free(): Promise<void>
  /** `GET /system_stats`, as it is. Errors: `dispatch.upstream_unavailable`. */
  stats(): Promise<Readonly<Record<string, unknown>>>
  /** Names of the checkpoints, in ComfyUI's order. Rejects only with the reason of `cut`. */
  checkpoints(cut: AbortSignal): Promise<{ readonly names: readonly string[] } | LostEnd>
  /** Renders once and fetches the pictures; see `render`. */
  generate(workflow: Workflow, signals: RenderSignals): Promise<RenderEnd>
}

/** No answer that can be used; `unread`: nobody listens there. */
type LostEnd = Extract<RenderEnd, { kind: 'lost' | 'unread' }>

export interface ComfyOptions {
  /** `http://127.0.0.1:PORT`, no trailing slash. */
  readonly origin: string
  readonly clock: Clock
  /** The slot it serves, for messages. */
  readonly slot?: string
  /** For a ComfyUI behind something that asks for a key; itself it has none. */
  readonly engineKey?: string | undefined
  /** It has answered something: it lives. */
  readonly onHeard?: () => void
}

/** ComfyUI answers slowly while it loads a model: its interpreter does one thing at a time. */
const CALL_TIMEOUT_MS = 10 * SECOND_MS

type Question = Pick<ComfyCall, 'method' | 'path' | 'body' | 'signal'>

/** Makes a client; nothing is sent yet, and there is nothing to close. */
export function createComfyClient({ origin, clock, slot, engineKey, onHeard }: ComfyOptions): ComfyEngine {
  const call = createComfyHttp({ origin, clock, engineKey, onHeard })
  const who = slot === undefined ? `The ComfyUI at ${origin}` : `The ComfyUI of slot "${slot}"`
  const fail = (what: string, facts: Readonly<Record<string, unknown>> = {}, cause?: unknown): Hal0Error =>
    Hal0Error.of('dispatch.upstream_unavailable', `${who} ${what}`, {
      details: { ...(slot === undefined ? {} : { slot }), ...facts },
      ...(cause === undefined ? {} : { cause }),
    })

  /** The answer to a plain question; anything but 200 and JSON is an error. */
  async function ask(request: Question): Promise<Result<unknown, LostEnd>> {
    const answer = await call({ ...request, timeoutMs: CALL_TIMEOUT_MS, limitBytes: JSON_LIMIT_BYTES })
    if (request.signal?.aborted) throw request.signal.reason
    if (!answer.ok) {
      const { kind, message, cause } = answer.error
      return err({ kind: kind === 'refused' ? 'unread' : 'lost', error: fail(message, {}, cause) })
    }
    const { status } = answer.value
    if (status === 200) return ok(jsonOf(answer.value))
    return err({
      kind: 'lost',
      error: fail(`answered ${request.method} ${request.path} with status ${status}`, { status }),
    })
  }
  async function insist(request: Question): Promise<unknown> {
    const answer = await ask(request)
    if (!answer.ok) throw answer.error.error
    return answer.value
  }
  const unfit = (path: string): Hal0Error => fail(`answered GET ${path} with something else than it should`)

  return {
    async queue() {
      const queue = readQueue(await insist({ method: 'GET', path: '/queue' }))
      if (queue === undefined) throw unfit('/queue')
      return { running: queue.running.length, pending: queue.pending.length }
    },
    async free() {
      await insist({ method: 'POST', path: '/free', body: { unload_models: true, free_memory: true } })
    },
    async stats() {
      const stats = await insist({ method: 'GET', path: '/system_stats' })
      if (typeof stats !== 'object' || stats === null || Array.isArray(stats)) throw unfit('/system_stats')
      return Object.fromEntries(Object.entries(stats))
    },
    async checkpoints(cut) {
      const path = '/object_info/CheckpointLoaderSimple'
      const answer = await ask({ method: 'GET', path, signal: cut })
      if (!answer.ok) return answer.error
      const names = readCheckpoints(answer.value)
      return names === undefined ? { kind: 'lost', error: unfit(path) } : { names }
    },
    generate: (workflow, signals) => render(workflow, signals, { call, clock, fail }),
  }
}

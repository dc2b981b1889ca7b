import { SECOND_MS } from '../../kernel/units.ts'
import { type ComfyFault, type ComfyHttp, JSON_LIMIT_BYTES, jsonOf } from './comfy-http.ts'
import { type RenderOutcome, readHistory, readQueue } from './rules/read-answers.ts'

/** Where a render is. `gone`: ComfyUI does not know it; `unfit`: an answer that says nothing; a fault: no answer. */
export type Sighting = RenderOutcome | { readonly kind: 'queued' | 'running' | 'gone' | 'unfit' } | ComfyFault

const LOOK_TIMEOUT_MS = 10 * SECOND_MS

/** Where is the render? First among those that are over, then in the queue, and once more: it may have ended in between. */
export async function lookAtRender(id: string, cut: AbortSignal, call: ComfyHttp): Promise<Sighting> {
  const get = (path: string) =>
    call({ method: 'GET', path, timeoutMs: LOOK_TIMEOUT_MS, limitBytes: JSON_LIMIT_BYTES, signal: cut })
  for (let nth = 1; nth <= 2; nth++) {
    const history = await get(`/history/${encodeURIComponent(id)}`)
    if (!history.ok) return history.error
    const outcome = history.value.status === 200 ? readHistory(jsonOf(history.value), id) : undefined
    if (outcome === undefined) return { kind: 'unfit' }
    if (outcome !== 'absent') return outcome
    if (nth === 2) break
    const answer = await get('/queue')
    if (!answer.ok) return answer.error
    const queue = answer.value.status === 200 ? readQueue(jsonOf(answer.value)) : undefined
    if (queue === undefined) return { kind: 'unfit' }
    if (queue.running.includes(id)) return { kind: 'running' }
    if (queue.pending.includes(id)) return { kind: 'queued' }
  }
  return { kind: 'gone' }
}

/** Takes it out of the queue; one that runs is left alone by ComfyUI. Whether it worked shows at the next look. */
export async function removeRender(id: string, call: ComfyHttp): Promise<void> {
  const body = { delete: [id] }
  await call({ method: 'POST', path: '/queue', body, timeoutMs: LOOK_TIMEOUT_MS, limitBytes: JSON_LIMIT_BYTES })
}

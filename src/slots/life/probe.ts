import { type ClientRequest, request } from 'node:http'
import { fieldOf, parseJson } from '../../kernel/read-json.ts'
import type { ProbeSpec } from '../../runners/runner.ts'
import { PROBE_HANGS_MS, PROBE_TIMEOUT_MS } from '../settings.ts'

/** What one look at an engine says. Source: SPEC 5 "Probe", "Engine key". */
export type ProbeVerdict =
  /** Nobody answers, or not in the expected way. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'loading' }
  | { readonly kind: 'no_model' }
  /** Someone answers, but it is not our engine: it does not know the key, or does not ask for it. */
  | { readonly kind: 'stranger'; readonly reason: string }
  /** `parallel`: sequences the engine decodes at once; null = it does not say. */
  | { readonly kind: 'ready'; readonly parallel: number | null }

/** Answers above this are not read to the end; a probe never needs that much. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

interface Answer {
  readonly status: number
  readonly json: unknown
}

/**
 * Looks at one engine, as often as asked, one look after the other. One that hangs is `silent` soon, so that it keeps no other back; when it is answered
 * after all, that is what the look of then says.
 * `close` when no more looks are needed.
 */
export interface Prober {
  look(): Promise<ProbeVerdict>
  close(): Promise<void>
}

const SILENT: ProbeVerdict = { kind: 'silent' }

type Get = (path: string, withKey: boolean) => Promise<Answer>

export function createProber(origin: string, spec: ProbeSpec, engineKey: string | undefined): Prober {
  const { hostname, port } = new URL(origin)
  const open = new Set<ClientRequest>()
  const get: Get = (path, withKey) => {
    const headers = withKey && engineKey !== undefined ? { authorization: `Bearer ${engineKey}` } : {}
    // One connection each: an engine that closes after its answers must not look like one that is silent.
    const asking = request({ hostname, port, path, headers, agent: false })
    open.add(asking)
    asking.once('close', () => open.delete(asking))
    return answerOf(asking)
  }
  // What a look says that nobody waited for any more, and who waits now.
  let late: ProbeVerdict | undefined
  let waiting: ((verdict: ProbeVerdict) => void) | undefined
  const hear = (verdict: ProbeVerdict): void => {
    if (waiting === undefined) late = verdict
    else waiting(verdict)
  }
  return {
    look: () =>
      new Promise((resolve) => {
        const said = late
        late = undefined
        if (said !== undefined) return resolve(said)
        const answer = (verdict: ProbeVerdict): void => {
          clearTimeout(limit)
          if (waiting === answer) waiting = undefined
          resolve(verdict)
        }
        const limit = setTimeout(() => answer(SILENT), PROBE_HANGS_MS)
        waiting = answer
        lookOnce(get, spec, engineKey !== undefined).then(hear, () => answer(SILENT))
      }),
    close: async () => {
      for (const asking of open) asking.destroy()
    },
  }
}

async function lookOnce(get: Get, spec: ProbeSpec, hasKey: boolean): Promise<ProbeVerdict> {
  const health = await get(spec.healthPath, true)
  if (health.status === 503) return { kind: 'loading' }
  if (health.status !== 200) return { kind: 'silent' }
  if (fieldOf(health.json, 'model_loaded') === false) return { kind: 'loading' }
  const { identityPath, modelsPath } = spec
  // All at once, as requests wait for the answer; who it is is judged before what it serves.
  const [identity, open, models] = await Promise.all([
    identityPath === undefined ? undefined : get(identityPath, true),
    identityPath === undefined || !hasKey ? undefined : get(identityPath, false),
    modelsPath === undefined ? undefined : get(modelsPath, true).catch(() => UNREADABLE),
  ])
  if (open !== undefined) {
    if (isRefused(identity)) return { kind: 'stranger', reason: 'it does not accept the key of this slot' }
    if (!isRefused(open)) return { kind: 'stranger', reason: 'it answers without the key of this slot' }
  }
  if (identity?.status === 503) return { kind: 'loading' }
  if (identity !== undefined && identity.status !== 200) return { kind: 'silent' }
  if (models !== undefined) {
    const list = fieldOf(models.json, 'data')
    if (models.status !== 200 || !Array.isArray(list)) return { kind: 'silent' }
    if (list.length === 0) return { kind: 'no_model' }
  }
  const total = fieldOf(identity?.json, 'total_slots')
  return { kind: 'ready', parallel: typeof total === 'number' && total >= 1 ? Math.floor(total) : null }
}

const UNREADABLE: Answer = { status: 0, json: undefined }

function isRefused(answer: Answer | undefined): boolean {
  return answer?.status === 401 || answer?.status === 403
}

function answerOf(asking: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => asking.destroy(new Error('no answer in time')), PROBE_TIMEOUT_MS)
    asking.once('response', (answer) => {
      const parts: Buffer[] = []
      let bytes = 0
      answer.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > MAX_ANSWER_BYTES) asking.destroy(new Error('the answer is too large'))
        else parts.push(part)
      })
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, json: parseJson(Buffer.concat(parts).toString('utf8')) })
      })
      answer.once('error', reject)
    })
    asking.once('error', reject)
    asking.once('close', () => {
      clearTimeout(limit)
      reject(new Error('the connection closed before the answer was complete'))
    })
    asking.end()
  })
}

import { Client } from 'undici'
import { fieldOf, parseJson } from '../../kernel/read-json.ts'
import type { ProbeSpec } from '../../runners/runner.ts'
import { PROBE_TIMEOUT_MS } from '../settings.ts'

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

/** Looks at one engine, as often as asked, over one connection of its own. `close` when no more looks are needed. */
export interface Prober {
  look(): Promise<ProbeVerdict>
  close(): Promise<void>
}

export function createProber(origin: string, spec: ProbeSpec, engineKey: string | undefined): Prober {
  const client = new Client(origin, { headersTimeout: PROBE_TIMEOUT_MS, bodyTimeout: PROBE_TIMEOUT_MS })
  const get = (path: string, withKey: boolean) =>
    ask(client, path, withKey && engineKey !== undefined ? { authorization: `Bearer ${engineKey}` } : {})
  return {
    look: async () => {
      try {
        return await lookOnce(get, spec, engineKey !== undefined)
      } catch {
        return { kind: 'silent' }
      }
    },
    close: () => client.destroy(),
  }
}

async function lookOnce(
  get: (path: string, withKey: boolean) => Promise<Answer>,
  spec: ProbeSpec,
  hasKey: boolean,
): Promise<ProbeVerdict> {
  const health = await get(spec.healthPath, true)
  if (health.status === 503) return { kind: 'loading' }
  if (health.status !== 200) return { kind: 'silent' }
  if (fieldOf(health.json, 'model_loaded') === false) return { kind: 'loading' }
  const identity = spec.identityPath === undefined ? undefined : await get(spec.identityPath, true)
  if (spec.identityPath !== undefined && hasKey) {
    if (identity?.status === 401 || identity?.status === 403) {
      return { kind: 'stranger', reason: 'it does not accept the key of this slot' }
    }
    const open = await get(spec.identityPath, false)
    if (open.status !== 401 && open.status !== 403) {
      return { kind: 'stranger', reason: 'it answers without the key of this slot' }
    }
  }
  if (identity?.status === 503) return { kind: 'loading' }
  if (identity !== undefined && identity.status !== 200) return { kind: 'silent' }
  if (spec.modelsPath !== undefined) {
    const models = await get(spec.modelsPath, true)
    const list = fieldOf(models.json, 'data')
    if (models.status !== 200 || !Array.isArray(list)) return { kind: 'silent' }
    if (list.length === 0) return { kind: 'no_model' }
  }
  const total = fieldOf(identity?.json, 'total_slots')
  return { kind: 'ready', parallel: typeof total === 'number' && total >= 1 ? Math.floor(total) : null }
}

async function ask(client: Client, path: string, headers: Record<string, string>): Promise<Answer> {
  const { statusCode, body } = await client.request({
    path,
    method: 'GET',
    headers,
    // One connection each: an engine that closes after its answers must not look like one that is silent.
    reset: true,
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  })
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body) {
    const chunk = Buffer.from(part)
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer is too large')
    parts.push(chunk)
  }
  return { status: statusCode, json: parseJson(Buffer.concat(parts).toString('utf8')) }
}

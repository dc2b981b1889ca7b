import type { KvGeometry } from '../../contract/model.ts'
import { cacheRowBytes } from './cache-types.ts'
import { type LayerState, resolveLayerStates } from './kv-layers.ts'
import { isCacheless, isUnmodelled, resolveSlidingLayers } from './kv-patterns.ts'

/** llama.cpp makes caches in steps of so many cells. */
const CELL_STEP = 256
const F32_BYTES = 4

export interface KvRequest {
  readonly geometry: KvGeometry
  /** Null = the file does not say: then the window of every layer counts in full. */
  readonly architecture: string | null
  /** Tokens that the engine is told (`--ctx-size`), for all sequences together; > 0. */
  readonly ctxTokens: number
  /** Sequences at once; ≥ 1. */
  readonly parallel: number
  /** They share one pool of cells (`--kv-unified`). */
  readonly unified: boolean
  readonly cacheTypeK: string
  readonly cacheTypeV: string
  /** Tokens that are computed in one step. */
  readonly ubatchTokens: number
  /** Sliding layers keep everything (`--swa-full`). */
  readonly swaFull: boolean
  /** Default true. Without it the values of every layer take the room of the widest. */
  readonly flashAttention?: boolean
  /** Layers for multi-token prediction, the last ones (default 0). They count only when they are used, with types of their own. */
  readonly mtp?: {
    readonly layers: number
    readonly isUsed: boolean
    readonly cacheTypeK: string
    readonly cacheTypeV: string
  }
  /** Earlier recurrent states that are kept per sequence to take drafted tokens back (default 0). */
  readonly rollbackStates?: number
}

export type KvBytes =
  /** `layerBytes`: of each layer in its order. `note`: why it may be less in truth. */
  | { readonly kind: 'known'; readonly bytes: number; readonly layerBytes: readonly number[]; readonly note?: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/**
 * How many bytes does llama.cpp keep between tokens for such a context: keys and values, and recurrent state? `reason` completes "the KV
 * cache cannot be counted: …". Source: SPEC 7 "Pre-load admission"; test/engines/kv-estimate.test.ts asks the engine itself.
 */
export function kvCacheBytes(request: KvRequest): KvBytes {
  const { architecture, geometry, mtp } = request
  if (architecture !== null && isUnmodelled(architecture)) {
    return { kind: 'unknown', reason: `hal0 does not know how ${architecture} compresses its cache` }
  }
  if (architecture !== null && isCacheless(architecture)) return { kind: 'known', bytes: 0, layerBytes: [] }
  const sliding = resolveSlidingLayers(architecture, geometry)
  const states = resolveLayerStates(architecture, geometry, sliding, mtp?.layers ?? 0)
  if (!states.ok) return { kind: 'unknown', reason: states.error }
  const cells = cellsOf(request, sliding.windowTokens)
  const widestValue = Math.max(0, ...states.value.map(({ valueElements }) => valueElements))
  const layerBytes: number[] = []
  for (const state of states.value) {
    const bytes = bytesOfLayer(request, state, cells, widestValue)
    if (bytes === undefined) return { kind: 'unknown', reason: `hal0 does not know the cache type ${typesOf(request)}` }
    layerBytes.push(bytes)
  }
  const bytes = layerBytes.reduce((sum, own) => sum + own, 0)
  if (!Number.isSafeInteger(bytes))
    return { kind: 'unknown', reason: 'its header leads to more bytes than any machine has' }
  return { kind: 'known', bytes, layerBytes, ...(sliding.note === undefined ? {} : { note: sliding.note }) }
}

interface Cells {
  readonly full: number
  readonly sliding: number
}

/** Cells of all streams together. Sequences that do not share have a stream each, and each is rounded up by itself. */
function cellsOf({ ctxTokens, parallel, unified, ubatchTokens, swaFull }: KvRequest, windowTokens: number): Cells {
  const streams = unified ? 1 : parallel
  const full = inSteps(Math.floor(inSteps(ctxTokens) / streams))
  const stepTokens = Math.min(ubatchTokens, ctxTokens)
  const window = inSteps(Math.min(full, windowTokens * (unified ? parallel : 1) + stepTokens))
  return { full: full * streams, sliding: (swaFull ? full : window) * streams }
}

const inSteps = (tokens: number) => Math.ceil(tokens / CELL_STEP) * CELL_STEP

function bytesOfLayer(request: KvRequest, state: LayerState, cells: Cells, widestValue: number): number | undefined {
  const { mtp, parallel, rollbackStates = 0 } = request
  if (state.isMtp && mtp?.isUsed !== true) return 0
  const types = state.isMtp && mtp !== undefined ? mtp : request
  const hasValues = state.valueElements > 0
  const valueElements = hasValues && request.flashAttention === false ? widestValue : state.valueElements
  const key = cacheRowBytes(types.cacheTypeK, state.keyElements)
  const value = cacheRowBytes(types.cacheTypeV, valueElements)
  if (key === undefined || value === undefined) return undefined
  const recurrentBytes = state.recurrentElements * F32_BYTES * parallel * (1 + rollbackStates)
  return (state.slides ? cells.sliding : cells.full) * (key + value) + recurrentBytes
}

function typesOf({ cacheTypeK, cacheTypeV, mtp }: KvRequest): string {
  const used = mtp?.isUsed === true ? [mtp.cacheTypeK, mtp.cacheTypeV] : []
  return [cacheTypeK, cacheTypeV, ...used].find((type) => cacheRowBytes(type, 1) === undefined) ?? cacheTypeK
}

import { type KvBytes, kvCacheBytes } from '../../models/rules/kv-bytes.ts'
import type { MemoryNeed } from './memory-need.ts'
import { placeNeed } from './memory-need-place.ts'
import type { NeedFile, NeedRequest } from './memory-need-request.ts'
import { findUncountable, type MemorySettings, readMemorySettings } from './memory-need-settings.ts'

/**
 * How much memory will this launch take? Weights of all its files, what it keeps between tokens, and a fixed overhead, on the GPU or in main
 * memory. Never rejects a launch: what cannot be counted is `unknown`, and says why. Source: SPEC 7 "Pre-load admission".
 */
export function estimateMemoryNeed(request: NeedRequest): MemoryNeed {
  const unknown = whyUnknown(request)
  if (unknown !== undefined) return { kind: 'unknown', reason: unknown }
  const { model, mmproj, drafter, adapters } = request
  if (model === undefined) return { kind: 'unknown', reason: 'its command names no model file' }
  for (const { path, sizeBytes } of [model, ...presentOf(mmproj), ...presentOf(drafter), ...adapters]) {
    if (sizeBytes === null) return { kind: 'unknown', reason: `the size of ${path} cannot be read` }
  }
  const settings = readMemorySettings(request.flags)
  const cache = request.runner === 'embedded' ? embeddedCache(request, model) : modelCache(request, settings, model)
  if (cache.kind === 'unknown') return inFile(model, cache.reason)
  const draft = drafter === undefined ? undefined : drafterCache(request, settings, drafter)
  if (drafter !== undefined && draft?.kind === 'unknown') return inFile(drafter, draft.reason)
  return placeNeed({
    isGpu: request.device.startsWith('gpu-') && request.runner !== 'embedded',
    settings,
    isMapped: request.runner === 'embedded' || settings.isMapped,
    model: { weightsBytes: model.sizeBytes ?? 0, layerBytes: layersOf(cache), layers: model.facts?.kv.layers ?? 0 },
    drafter: {
      weightsBytes: drafter?.sizeBytes ?? 0,
      layerBytes: layersOf(draft),
      layers: drafter?.facts?.kv.layers ?? 0,
    },
    mmprojBytes: mmproj?.sizeBytes ?? 0,
    adapterBytes: adapters.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0),
    note: cache.note,
  })
}

function whyUnknown(request: NeedRequest): string | undefined {
  const { dialect, isSelfManaged, runner } = request
  if (isSelfManaged) return 'its engine brings its own model'
  switch (dialect) {
    case 'vllm':
    case 'sglang':
      return 'it takes a share of the card by itself'
    case 'flm':
      return 'its engine keeps its models by itself'
    case 'template':
      return `runner ${runner} is a template, and hal0 does not know what its engine allocates`
    case 'llama-server':
      return runner === 'embedded' ? undefined : findUncountable(request)
  }
}

const presentOf = (file: NeedFile | undefined) => (file === undefined ? [] : [file])

const inFile = ({ path }: NeedFile, reason: string): MemoryNeed => ({
  kind: 'unknown',
  reason: `the KV cache of ${path} cannot be counted: ${reason}`,
})

const layersOf = (cache: KvBytes | undefined) => (cache?.kind === 'known' ? cache.layerBytes : [])

/** Tokens by which the library of the embedded engine rounds a window up. */
const EMBEDDED_STEP = 256

const UNREAD: KvBytes = { kind: 'unknown', reason: 'its header cannot be read' }

function modelCache(request: NeedRequest, settings: MemorySettings, { facts }: NeedFile): KvBytes {
  if (facts === null) return UNREAD
  const { speculation, ctxTokens } = request
  const { draft } = settings
  const isDrafted = speculation === 'drafter' || speculation === 'mtp'
  return kvCacheBytes({
    ...settings,
    geometry: facts.kv,
    architecture: facts.architecture,
    ctxTokens,
    mtp: { layers: facts.mtp_layers, isUsed: speculation === 'mtp', ...draft },
    // A recurrent layer cannot forget a token: a state is kept for each that may have to be taken back.
    rollbackStates: isDrafted ? draft.tokens : 0,
  })
}

/** A drafter has a context like its model's. */
function drafterCache({ ctxTokens }: NeedRequest, settings: MemorySettings, { facts }: NeedFile): KvBytes {
  if (facts === null) return UNREAD
  return kvCacheBytes({
    ...settings,
    ...settings.draft,
    geometry: facts.kv,
    architecture: facts.architecture,
    ctxTokens,
    mtp: { layers: facts.mtp_layers, isUsed: true, ...settings.draft },
  })
}

/**
 * The embedded engine gives each request a window of its own, never longer than the model's, with halves as numbers. Where `--parallel` is a
 * limit or left to it, it takes one window for sure, and more only within a quarter of what is free then.
 */
function embeddedCache({ ctxTokens, flags }: NeedRequest, { facts }: NeedFile): KvBytes {
  if (facts === null) return UNREAD
  const settings = readMemorySettings(flags)
  const asked = Number(flags.findLast(({ canonical }) => canonical === '--parallel')?.values[0] ?? 0)
  const windows = asked > 0 && !settings.unified ? asked : 1
  const windowTokens = Math.min(ctxTokens, facts.native_ctx ?? ctxTokens)
  return kvCacheBytes({
    geometry: facts.kv,
    architecture: facts.architecture,
    ctxTokens: Math.ceil(windowTokens / EMBEDDED_STEP) * EMBEDDED_STEP * windows,
    parallel: windows,
    unified: false,
    cacheTypeK: 'f16',
    cacheTypeV: 'f16',
    // The library makes its step longer by the window that slides.
    ubatchTokens: settings.ubatchTokens + (facts.kv.sliding_window ?? 0),
    swaFull: false,
    mtp: { layers: facts.mtp_layers, isUsed: false, cacheTypeK: 'f16', cacheTypeV: 'f16' },
  })
}

import { MIB } from '../../kernel/units.ts'
import type { KnownNeed } from './memory-need.ts'
import type { MemorySettings } from './memory-need-settings.ts'

/** Scratch space, code and libraries of an engine, whatever its model. Source: SPEC 7. */
export const OVERHEAD_BYTES = 1_024 * MIB
/** What an engine that computes on a GPU takes in main memory, on top. */
export const GPU_HOST_BYTES = 256 * MIB

interface PlacedModel {
  readonly weightsBytes: number
  /** Of its cache, by layer; empty = it has none. */
  readonly layerBytes: readonly number[]
  readonly layers: number
}

/** What is to be placed. */
export interface NeedParts {
  readonly isGpu: boolean
  readonly isMapped: boolean
  readonly settings: MemorySettings
  readonly model: PlacedModel
  readonly drafter: PlacedModel
  readonly mmprojBytes: number
  readonly adapterBytes: number
  readonly note: string | undefined
}

/**
 * Where does it go? Without a GPU all into main memory. With one, as many of the last layers as `-ngl` says with their share of the weights
 * and their cache, the projector and the overhead; the rest stays in main memory. `-ngl 0` leaves nothing on the GPU.
 */
export function placeNeed(parts: NeedParts): KnownNeed {
  const { model, drafter, mmprojBytes, adapterBytes, isMapped, settings } = parts
  const isGpu = parts.isGpu && settings.gpuLayers !== 0
  const own = placeModel(model, isGpu ? settings.gpuLayers : 0, settings.kvOffload)
  const draft = placeModel(drafter, isGpu && settings.draft.onGpu ? settings.draft.gpuLayers : 0, settings.kvOffload)
  const projectorGpuBytes = isGpu && settings.mmprojOnGpu ? mmprojBytes : 0
  // Adapters follow the layers they change.
  const adapterGpuBytes = isGpu ? adapterBytes : 0
  const weightsBytes = model.weightsBytes + drafter.weightsBytes + mmprojBytes + adapterBytes
  const cacheBytes = sum(model.layerBytes) + sum(drafter.layerBytes)
  const overheadBytes = OVERHEAD_BYTES + (isGpu ? GPU_HOST_BYTES : 0)
  const gpuBytes =
    own.weightsBytes +
    own.cacheBytes +
    draft.weightsBytes +
    draft.cacheBytes +
    projectorGpuBytes +
    adapterGpuBytes +
    (isGpu ? OVERHEAD_BYTES : 0)
  const mappableBytes = model.weightsBytes - own.weightsBytes + drafter.weightsBytes - draft.weightsBytes
  return {
    kind: 'known',
    gpuBytes,
    hostBytes: weightsBytes + cacheBytes + overheadBytes - gpuBytes,
    mappedBytes: isMapped ? mappableBytes : 0,
    weightsBytes,
    cacheBytes,
    overheadBytes,
    ...(parts.note === undefined ? {} : { note: parts.note }),
  }
}

/** What of it is on the GPU. `gpuLayers` undefined = all. Beside its layers a model has its output, which counts as one. */
function placeModel(
  { weightsBytes, layerBytes, layers }: PlacedModel,
  gpuLayers: number | undefined,
  kvOffload: boolean,
): { readonly weightsBytes: number; readonly cacheBytes: number } {
  const all = layers + 1
  const count = Math.min(gpuLayers ?? all, all)
  const first = Math.max(0, layerBytes.length - count)
  return {
    weightsBytes: Math.round((weightsBytes * count) / all),
    cacheBytes: kvOffload && count > 0 ? sum(layerBytes.slice(first)) : 0,
  }
}

const sum = (bytes: readonly number[]) => bytes.reduce((total, own) => total + own, 0)

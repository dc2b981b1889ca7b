/**
 * What a launch will take, in bytes. `gpuBytes` on the slot's GPUs (all of them together), `hostBytes` in main memory; a CPU slot has only
 * the latter. Source: SPEC 7 "Pre-load admission".
 */
export interface KnownNeed {
  readonly kind: 'known'
  readonly gpuBytes: number
  readonly hostBytes: number
  /** Part of `hostBytes`: weights that are mapped from the file. The system counts them as available although they are in use. */
  readonly mappedBytes: number
  /** Of which the sum is made, for people: files of weights (projector and drafter too), KV cache and other state, fixed overhead. */
  readonly weightsBytes: number
  readonly cacheBytes: number
  readonly overheadBytes: number
  /** Why it may take less in truth, in one clause; absent = no reason is known. */
  readonly note?: string
}

export type MemoryNeed =
  | KnownNeed
  /** The estimate does not model it; `reason` in one clause. Admission is skipped then, and says so. */
  | { readonly kind: 'unknown'; readonly reason: string }

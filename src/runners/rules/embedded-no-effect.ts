/**
 * Flags of llama-server that only tune speed, memory or the use of a GPU, in every spelling: the embedded engine does not have
 * them, and its answers are the same without. What changes an answer, a route or a file is not here, and is refused.
 * Source: SPEC 9, 10.
 */
export const EMBEDDED_NO_EFFECT: ReadonlySet<string> = new Set([
  // The KV cache
  ...['--cache-type-k', '-ctk', '--cache-type-v', '-ctv', '--cache-reuse', '--cache-ram', '-cram'],
  ...['--cache-prompt', '--no-cache-prompt', '--cache-idle-slots', '--no-cache-idle-slots'],
  ...['--ctx-checkpoints', '-ctxcp', '--swa-checkpoints', '--checkpoint-min-step', '-cms', '--swa-full'],
  ...['--kv-offload', '-kvo', '--no-kv-offload', '-nkvo'],
  ...['--defrag-thold', '-dt', '--slot-prompt-similarity', '-sps'],
  // Arithmetic and batches
  ...['--flash-attn', '-fa', '--cont-batching', '-cb', '--no-cont-batching', '-nocb', '--warmup', '--no-warmup'],
  ...['--op-offload', '--no-op-offload', '--repack', '--no-repack', '-nr', '--no-host', '--perf', '--no-perf'],
  ...['--backend-sampling', '-bs'],
  // Threads
  ...['--threads-batch', '-tb', '--threads-http', '--prio', '--prio-batch', '--poll', '--poll-batch', '--numa'],
  ...['--cpu-mask', '-C', '--cpu-range', '-Cr', '--cpu-strict', '--cpu-mask-batch', '-Cb', '--cpu-range-batch', '-Crb'],
  '--cpu-strict-batch',
  // Files in memory
  ...['--mmap', '--no-mmap', '--mlock', '--direct-io', '-dio', '--no-direct-io', '-ndio'],
  ...['--load-mode', '-lm', '--lazy-mode', '-lzm', '--check-tensors'],
  // GPUs
  ...['--split-mode', '-sm', '--tensor-split', '-ts', '--main-gpu', '-mg', '--fit', '-fit', '--fit-target', '-fitt'],
  ...['--override-tensor', '-ot', '--cpu-moe', '-cmoe', '--n-cpu-moe', '-ncmoe', '--n-cpu-ffn', '-ncffn'],
  '--moe-cache-mib',
])

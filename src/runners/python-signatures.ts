import type { ErrorSignature } from './rules/explain-failure.ts'

const FLAG: ErrorSignature = {
  cause: 'bad_flag',
  pattern: /error: (unrecognized arguments|ambiguous option|argument \S+: |the following arguments are required)/,
  remedy:
    'Take the flag out of the profile, or correct it: this version of the engine does not know it, or not that value.',
}
const PORT: ErrorSignature = {
  cause: 'port_in_use',
  pattern: /address already in use|\bport \d+ is (already )?in use/i,
  remedy: "Free the port, or give the slot another one ('port' in its file; without it hal0 picks a free one).",
}
const MEMORY: ErrorSignature = {
  cause: 'out_of_memory',
  pattern:
    /(CUDA|HIP|XPU) out of memory|OutOfMemoryError|(CUDA|HIP) error: out of memory|std::bad_alloc|^MemoryError\b/,
  remedy: 'Stop something else that holds GPU memory, lower the context size, or use a smaller or quantised model.',
}
const ARCHITECTURE: ErrorSignature = {
  cause: 'unsupported_architecture',
  pattern:
    /Model architectures .+ are not supported|does not recognize this architecture|architecture .+ is not supported yet|has no (vLLM|SGlang) implementation|is not supported (anymore|in-tree)/i,
  remedy: 'This version of the engine does not know the model: use a newer one or another runner, or another model.',
}
const FILE: ErrorSignature = {
  cause: 'bad_file',
  pattern:
    /does not appear to have a file named|not a valid model identifier|Invalid repository ID or local directory|Cannot find any model weights|SafetensorError|Error while deserializing header|Repo id must (be in the form|use alphanumeric)|No such file or directory: '[^']*\.(json|safetensors|gguf|bin)'/,
  remedy:
    'Check the path of the model and that the user who runs hal0 may read it; this engine wants a folder with config.json and weights.',
}
const DEVICE: ErrorSignature = {
  cause: 'missing_library',
  pattern:
    /Failed to infer device type|Found no NVIDIA driver|No (CUDA|HIP) GPUs are available|(CUDA|NVIDIA) driver (version is insufficient|on your system is too old)|Torch not compiled with CUDA enabled/,
  remedy: 'The engine sees no GPU that it can use: install or update the GPU driver, or choose another runner.',
}
/** Not `ImportError('…')`: in that form it is a warning about a kernel that the engine can do without. */
const LIBRARY: ErrorSignature = {
  cause: 'missing_library',
  pattern: /\b(ModuleNotFoundError|ImportError): |error while loading shared libraries: |No module named /,
  remedy:
    "Install the named module or library into the engine's environment, or name another one as `binary` of the runner.",
}

/**
 * What vLLM says when it cannot run, most telling first; its processes put their own name and place before each line. None has
 * state. Source: SPEC 10 "error signatures".
 */
export const VLLM_SIGNATURES: readonly ErrorSignature[] = [
  FLAG,
  PORT,
  {
    cause: 'out_of_memory',
    pattern:
      /larger than the available KV cache memory|larger than the maximum number of tokens that can be stored in KV cache/,
    remedy:
      "Lower ctx_size of the slot or its profile: the window's KV cache does not fit beside the weights. Or raise --gpu-memory-utilization in the profile's flags.",
  },
  {
    cause: 'out_of_memory',
    pattern:
      /No available memory for the cache blocks|Free memory on device .+ is less than desired GPU memory utilization/,
    remedy:
      "Stop something else that holds GPU memory, or set --gpu-memory-utilization in the profile's flags to the share that is free.",
  },
  MEMORY,
  ARCHITECTURE,
  FILE,
  DEVICE,
  LIBRARY,
]

/** What SGLang says when it cannot run, most telling first. None has state. Source: SPEC 10 "error signatures". */
export const SGLANG_SIGNATURES: readonly ErrorSignature[] = [
  FLAG,
  PORT,
  {
    cause: 'out_of_memory',
    pattern: /Not enough memory\. Please try to increase --mem-fraction-static/,
    remedy:
      "The weights leave no memory for the KV cache: stop something else that holds GPU memory, or raise --mem-fraction-static in the profile's flags.",
  },
  MEMORY,
  ARCHITECTURE,
  FILE,
  DEVICE,
  LIBRARY,
]

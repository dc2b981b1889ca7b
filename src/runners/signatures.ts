import type { ErrorSignature } from './rules/explain-failure.ts'

const LOWER_MEMORY =
  'Lower the context size or the number of GPU layers, stop something else that holds memory, or use a smaller quant.'
const FETCH_AGAIN = 'The model file is damaged or incomplete: fetch it again and compare its size and checksum.'

/**
 * What llama.cpp says when it cannot run, in the words of llama-server, of the embedded engine and of the dynamic linker. Most
 * telling first: a failed allocation is also reported as a failed load, and a wrong architecture too. None has state (`g`).
 * Source: SPEC 10 "error signatures".
 */
export const LLAMA_CPP_SIGNATURES: readonly ErrorSignature[] = [
  {
    cause: 'missing_library',
    pattern: /error while loading shared libraries: |symbol lookup error: |version `[^']+' not found/,
    remedy: 'Install the named library (for a GPU build: the CUDA, ROCm or Vulkan runtime), or choose another runner.',
  },
  {
    cause: 'bad_flag',
    pattern: /error while handling argument|^error: (unknown value|invalid value)/i,
    remedy:
      'Correct the value that the line names: flags of the profile (`hal0 profile show`), or keys of slot and model; `hal0 slot resolved` shows who sets it.',
  },
  {
    cause: 'bad_flag',
    pattern: /^error: (invalid argument|unknown argument)/i,
    remedy:
      "Set another `binary` for the slot's runner: this build of the engine does not know a flag that hal0 gives it.",
  },
  {
    cause: 'port_in_use',
    pattern: /couldn't bind HTTP server socket|EADDRINUSE|address already in use/i,
    remedy: "Free the port, or give the slot another one ('port' in its file; without it hal0 picks a free one).",
  },
  {
    cause: 'out_of_memory',
    pattern:
      /cudaMalloc failed: out of memory|hipMalloc failed: out of memory|(CUDA|ROCm|HIP) error: out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY/,
    remedy: LOWER_MEMORY,
  },
  {
    cause: 'out_of_memory',
    pattern: /ErrorOutOf(Device|Host)Memory|ggml_vulkan: Device memory allocation of size \d+ failed/,
    remedy: LOWER_MEMORY,
  },
  {
    cause: 'out_of_memory',
    pattern:
      /failed to allocate (\S+ )?buffer|unable to allocate \S+ buffer|failed to allocate compute|insufficient memory|std::bad_alloc|^error: out of memory|cannot allocate memory/i,
    remedy: LOWER_MEMORY,
  },
  {
    cause: 'unsupported_architecture',
    pattern: /unknown model architecture|unknown pre-tokenizer type|unsupported model architecture/i,
    remedy: 'This build of the engine does not know the model: use a newer build or another runner, or another model.',
  },
  {
    cause: 'bad_file',
    pattern:
      /not within the file bounds|model is corrupted or incomplete|invalid magic characters|not a GGUF file|failed to read magic/,
    remedy: FETCH_AGAIN,
  },
  {
    cause: 'bad_file',
    pattern:
      /failed to open GGUF file|model file not found|model file (may not be read|cannot be opened)|model path is not a file/,
    remedy: 'Check the path of the model and that the user who runs hal0 may read it.',
  },
  {
    cause: 'bad_file',
    pattern: /file of --chat-template-file cannot be read/,
    remedy: "Check the path of the model's chat_template and that the user who runs hal0 may read it.",
  },
  {
    cause: 'bad_file',
    pattern: /gguf_init_from_\w+: |missing tensor|wrong number of tensors|error loading model/,
    remedy: FETCH_AGAIN,
  },
]

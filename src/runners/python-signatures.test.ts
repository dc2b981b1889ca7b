import { describe, expect, it } from 'vitest'
import { SGLANG_SIGNATURES, VLLM_SIGNATURES } from './python-signatures.ts'
import { explainFailure } from './rules/explain-failure.ts'

const TRACE = [
  '(EngineCore_0 pid=812) Traceback (most recent call last):',
  '(EngineCore_0 pid=812)   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 700, in run',
  '(EngineCore_0 pid=812)     raise e',
]
const AFTER = [
  '(APIServer pid=800) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
]

type Row = readonly [what: string, cause: string, decisive: string, advice: RegExp, lines: readonly string[]]

const VLLM: readonly Row[] = [
  [
    'a window whose cache does not fit',
    'out_of_memory',
    'is needed, which is larger than the available KV cache memory (1.0 GiB)',
    /ctx_size/,
    [
      ...TRACE,
      "(EngineCore_0 pid=812) ERROR 11-30 07:39:28 [core.py:1346] ValueError: To serve at least one request with the model's max seq len (40960), 4.38 GiB KV cache is needed, which is larger than the available KV cache memory (1.0 GiB). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
      ...AFTER,
    ],
  ],
  [
    'the same in the words of older versions',
    'out_of_memory',
    'maximum number of tokens that can be stored in KV cache (3664)',
    /ctx_size/,
    [
      "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3664). Try increasing `gpu_memory_utilization`.",
    ],
  ],
  [
    'a GPU that others use',
    'out_of_memory',
    'Free memory on device',
    /--gpu-memory-utilization/,
    [
      ...TRACE,
      '(EngineCore_0 pid=812) ValueError: Free memory on device (3.1/23.6 GiB) on startup is less than desired GPU memory utilization (0.9, 21.2 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.',
      ...AFTER,
    ],
  ],
  [
    'no memory for any cache',
    'out_of_memory',
    'No available memory for the cache blocks',
    /--gpu-memory-utilization/,
    ['ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.'],
  ],
  [
    'weights that do not fit',
    'out_of_memory',
    'CUDA out of memory. Tried to allocate 1.50 GiB',
    /quantised/,
    [
      ...TRACE,
      '(EngineCore_0 pid=812) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 512.00 MiB is free.',
      ...AFTER,
    ],
  ],
  [
    'an architecture it does not have',
    'unsupported_architecture',
    "Model architectures ['XlamaForCausalLM'] are not supported for now",
    /newer/,
    [
      '(APIServer pid=800) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig',
      "(APIServer pid=800)   Value error, Model architectures ['XlamaForCausalLM'] are not supported for now. Supported architectures: dict_keys(['ApertusForCausalLM'])",
    ],
  ],
  [
    'a model type that its library does not have',
    'unsupported_architecture',
    'Transformers does not recognize this architecture',
    /newer/,
    [
      'ValueError: The checkpoint you are trying to load has model type `xlama` but Transformers does not recognize this architecture.',
    ],
  ],
  [
    'a folder without a model',
    'bad_file',
    'does not appear to have a file named config.json',
    /folder with config\.json/,
    ['OSError: /srv/models/x does not appear to have a file named config.json. Checkout the main branch.'],
  ],
  [
    'cut weights',
    'bad_file',
    'Error while deserializing header',
    /path of the model/,
    ['safetensors_rust.SafetensorError: Error while deserializing header: InvalidHeaderDeserialization'],
  ],
  [
    'a busy port',
    'port_in_use',
    'address already in use',
    /Free the port/,
    [
      "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8081): address already in use",
      'OSError: [Errno 98] Address already in use',
    ],
  ],
  [
    'a flag it does not know',
    'bad_flag',
    'unrecognized arguments: --cache-reuse 256',
    /profile/,
    ['usage: vllm serve [model_tag] [options]', 'vllm serve: error: unrecognized arguments: --cache-reuse 256'],
  ],
  [
    'a value it does not know',
    'bad_flag',
    'argument --dtype: invalid choice',
    /profile/,
    ["api_server.py: error: argument --dtype: invalid choice: 'f99' (choose from auto, half)"],
  ],
  [
    'a missing module',
    'missing_library',
    "No module named 'flash_attn'",
    /environment/,
    ['Traceback (most recent call last):', "ModuleNotFoundError: No module named 'flash_attn'"],
  ],
  [
    'a missing library',
    'missing_library',
    'libcudart.so.12',
    /environment/,
    ['ImportError: libcudart.so.12: cannot open shared object file: No such file or directory'],
  ],
  [
    'a machine without a GPU, after a warning about a library',
    'missing_library',
    'Failed to infer device type',
    /driver/,
    [
      "WARNING 11-30 10:22:05 [_custom_ops.py:18] Failed to import from vllm._C with ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')",
      'RuntimeError: Failed to infer device type, please set the environment variable',
    ],
  ],
]

const SGLANG: readonly Row[] = [
  [
    'no memory beside the weights',
    'out_of_memory',
    'Not enough memory. Please try to increase --mem-fraction-static',
    /--mem-fraction-static/,
    [
      '[2026-11-30 10:34:03] Scheduler hit an exception: Traceback (most recent call last):',
      'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.2',
      '[2026-11-30 10:34:04] Received sigquit from a child process. It usually means the child failed.',
    ],
  ],
  [
    'no memory while it records graphs',
    'out_of_memory',
    'CUDA out of memory',
    /quantised/,
    [
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.',
      'Exception: Capture CUDA graph failed',
    ],
  ],
  [
    'an architecture it does not have',
    'unsupported_architecture',
    'are not supported for now',
    /newer/,
    [
      "ValueError: Model architectures ['XlamaForCausalLM'] are not supported for now. Supported architectures: dict_keys([])",
    ],
  ],
  [
    'a flag it does not know',
    'bad_flag',
    'unrecognized arguments: --max-model-len 4096',
    /profile/,
    ['launch_server.py: error: unrecognized arguments: --max-model-len 4096'],
  ],
]

describe.each([
  ['vLLM', VLLM_SIGNATURES, VLLM],
  ['SGLang', SGLANG_SIGNATURES, SGLANG],
] as const)('what %s says when it cannot run', (_engine, signatures, rows) => {
  it.each(rows)('is explained: %s', (_what, cause, decisive, advice, lines) => {
    const explanation = explainFailure(lines, signatures)
    expect(explanation?.cause).toBe(cause)
    expect(explanation?.line.toLowerCase()).toContain(decisive.toLowerCase())
    expect(explanation?.remedy).toMatch(advice)
  })

  it('does not blame a warning of an engine that runs', () => {
    const lines = [
      "WARNING 11-30 [_custom_ops.py:18] Failed to import from vllm._moe_C with ImportError('x')",
      'INFO:     Application startup complete.',
    ]
    expect(explainFailure(lines, signatures)?.cause).toBeUndefined()
  })

  it('keeps no state between lines', () => {
    expect(signatures.filter(({ pattern }) => pattern.global || pattern.sticky)).toEqual([])
  })
})

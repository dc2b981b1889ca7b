import { describe, expect, it } from 'vitest'
import { LLAMA_CPP_SIGNATURES } from '../signatures.ts'
import { explainFailure } from './explain-failure.ts'

/** Last words of real engines (llama-server b11669 unless said otherwise), oldest line first. */
const LAST_WORDS: readonly (readonly [what: string, cause: string, decisive: string, lines: readonly string[]])[] = [
  [
    'a missing file',
    'bad_file',
    'failed to open GGUF file',
    [
      "0.00.010.001 I srv    load_model: loading model '/nope.gguf'",
      "0.00.010.197 E gguf_init_from_file: failed to open GGUF file '/nope.gguf' (No such file or directory)",
      '0.00.010.291 E llama_model_load: error loading model: llama_model_loader: failed to load model from /nope.gguf',
      '0.00.012.542 E srv  llama_server: exiting due to model loading error',
    ],
  ],
  [
    'a file cut in its tensors',
    'bad_file',
    "tensor 'blk.1.ffn_down.weight' data is not within the file bounds",
    [
      "0.00.008.209 E llama_model_load: error loading model: tensor 'blk.1.ffn_down.weight' data is not within the file bounds, model is corrupted or incomplete",
      '0.00.008.247 E llama_model_load_from_file_impl: failed to load model',
      '0.00.008.974 E srv  llama_server: exiting due to model loading error',
    ],
  ],
  [
    'a file cut in its header',
    'bad_file',
    'failed to read key-value pairs',
    [
      '0.00.008.287 E gguf_init_from_reader: failed to read key-value pairs',
      '0.00.008.387 E llama_model_load: error loading model: llama_model_loader: failed to load model from trunc2.gguf',
    ],
  ],
  [
    'no GGUF at all',
    'bad_file',
    'invalid magic characters',
    [
      "0.00.007.550 E gguf_init_from_reader: invalid magic characters: 'NOPE', expected 'GGUF'",
      '0.00.007.636 E llama_model_load: error loading model: llama_model_loader: failed to load model from magic.gguf',
    ],
  ],
  [
    'an unknown architecture',
    'unsupported_architecture',
    "unknown model architecture: 'xlama'",
    [
      "0.00.008.191 E llama_model_load: error loading model: unknown model architecture: 'xlama'",
      '0.00.008.207 E llama_model_load_from_file_impl: failed to load model',
    ],
  ],
  [
    'a busy port',
    'port_in_use',
    'port: 29880',
    [
      "0.00.005.921 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 29880",
      '0.00.005.994 E srv  llama_server: exiting due to HTTP server error',
    ],
  ],
  [
    'an unknown flag',
    'bad_flag',
    '--frobnicate',
    ['warning: no usable GPU found, --gpu-layers option will be ignored', 'error: invalid argument: --frobnicate'],
  ],
  [
    'too large a context in host memory',
    'out_of_memory',
    'failed to allocate buffer of size 5120327680',
    [
      '0.00.084.053 E ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 5120327680',
      '0.00.090.321 E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache',
      "0.00.090.351 E cmn  common_init_: failed to create context with model '/work/main/models/hello.gguf'",
      '0.00.090.854 E srv  llama_server: exiting due to model loading error',
    ],
  ],
  [
    'full CUDA memory',
    'out_of_memory',
    'cudaMalloc failed: out of memory',
    [
      'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory',
      'alloc_tensor_range: failed to allocate CUDA0 buffer of size 17179869184',
      'llama_model_load: error loading model: unable to allocate CUDA0 buffer',
    ],
  ],
  [
    'full ROCm memory',
    'out_of_memory',
    'ROCm error',
    ['ROCm error: out of memory', '  current device: 0, in function alloc'],
  ],
  [
    'full Vulkan memory',
    'out_of_memory',
    'ErrorOutOfDeviceMemory',
    [
      'ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory',
      'error loading model: unable to allocate Vulkan0 buffer',
    ],
  ],
  [
    'a missing shared library',
    'missing_library',
    'libllama-server-impl.so',
    [
      'llama-server: error while loading shared libraries: libllama-server-impl.so: cannot open shared object file: No such file or directory',
    ],
  ],
  [
    'the embedded engine out of memory',
    'out_of_memory',
    '--ctx-size or --parallel',
    [
      'error: out of memory: a context of 2048 tokens for 4 request(s) needs 26 MiB, 20 MiB are free; lower --ctx-size or --parallel',
    ],
  ],
]

describe('explainFailure', () => {
  it.each(LAST_WORDS)('tells %s: %s', (_what, cause, decisive, lines) => {
    const found = explainFailure(lines, LLAMA_CPP_SIGNATURES)
    expect(found?.cause).toBe(cause)
    expect(found?.line).toContain(decisive)
    expect(found?.remedy).not.toBe('')
  })

  it('tells a flag that a build does not know from a value that is wrong', () => {
    const remedyOf = (line: string) => explainFailure([line], LLAMA_CPP_SIGNATURES)?.remedy
    expect(remedyOf('error while handling argument "--temp": stof')).toContain('Correct the value')
    expect(remedyOf('error: invalid argument: --new-flag')).toContain('another `binary`')
  })

  it('prefers the more telling signature to the earlier line', () => {
    const lines = ['error loading model: x', 'cudaMalloc failed: out of memory']
    expect(explainFailure(lines, LLAMA_CPP_SIGNATURES)).toMatchObject({ cause: 'out_of_memory', line: lines[1] })
  })

  it.each([
    [
      'a cache type that does not fit the model (llama-server b11669)',
      'K cache type q8_0 with block size 32 does not divide n_embd_head_k=40',
      [
        "0.00.013.091 I srv    load_model: loading model 'models/hello.gguf'",
        '0.00.015.392 E llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=40',
        '0.00.015.529 E common_fit_params: encountered an error while trying to fit params to free device memory: failed to create llama_context from model',
        '0.00.016.657 E llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=40',
        "0.00.016.683 E cmn  common_init_: failed to create context with model 'models/hello.gguf'",
        "0.00.016.713 E srv    load_model: failed to create_context with model 'models/hello.gguf'",
        '0.00.016.728 I srv    operator(): operator(): cleaning up before exit...',
        '0.00.017.156 E srv  llama_server: exiting due to model loading error',
      ],
    ],
    [
      'a cache type that needs another flag (llama-server b11669)',
      'quantized V cache requires flash_attn to be enabled',
      [
        '0.00.009.108 W srv  llama_server: security: no API key is set and CORS allows all origins',
        '0.00.011.924 E llama_init_from_model: quantized V cache requires flash_attn to be enabled',
        "0.00.013.245 E cmn  common_init_: failed to create context with model 'models/hello.gguf'",
        '0.00.013.662 E srv  llama_server: exiting due to model loading error',
      ],
    ],
    [
      'an end in the middle of work',
      'GGML_ASSERT(n > 0) failed',
      [
        '0.10.000.000 E srv    send_error: task id = 3, error: too long',
        'a.cpp:1: GGML_ASSERT(n > 0) failed',
        'Aborted',
      ],
    ],
    [
      'an end after complaints that it survived',
      'GGML_ASSERT(n > 0) failed',
      ['0.10.000.000 E srv    update: failed to truncate', 'a.cpp:1: GGML_ASSERT(n > 0) failed', 'Aborted'],
    ],
    [
      'a warning that is none, then a reason',
      'no such thing',
      ['0.00.000.001 W x: failed to lock memory', 'error: no such thing', 'error: exiting due to it'],
    ],
    [
      'nothing but empty words',
      'exiting due to model loading error',
      ['llama_model_load: failed to load model', 'srv  llama_server: exiting due to model loading error'],
    ],
  ])('without a signature, tells the line that says why: %s', (_what, decisive, lines) => {
    const found = explainFailure(lines, LLAMA_CPP_SIGNATURES)
    expect(found).toMatchObject({ cause: undefined, line: expect.stringContaining(decisive) })
  })

  it('takes the end itself for the reason', () => {
    const lines = ['starting', 'error: the first', 'Fatal: the second', 'cleaning up', '']
    expect(explainFailure(lines, LLAMA_CPP_SIGNATURES)).toEqual({
      line: 'Fatal: the second',
      cause: undefined,
      remedy: undefined,
    })
  })

  it.each([[[]], [['', '  ']], [['all is well', 'model loaded']]])(
    'says nothing where nothing was said: %j',
    (lines) => {
      expect(explainFailure(lines, LLAMA_CPP_SIGNATURES)).toBeUndefined()
    },
  )

  it('takes colours away and cuts long lines', () => {
    const found = explainFailure([`\u001b[1;31merror:\u001b[0m ${'x'.repeat(1000)}`], [])
    expect(found?.line.startsWith('error: xxx')).toBe(true)
    expect(found?.line).toHaveLength(400)
  })

  it('keeps no state between calls', () => {
    for (const { pattern } of LLAMA_CPP_SIGNATURES) expect(pattern.flags).not.toMatch(/[gy]/)
  })
})

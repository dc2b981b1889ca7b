import { describe, expect, it } from 'vitest'
import { explainFailure } from '../../runners/rules/explain-failure.ts'
import { LLAMA_CPP_SIGNATURES } from '../../runners/signatures.ts'
import type { TargetFailure } from './decision.ts'
import { isPermanentFailure, nextFailure } from './next-failure.ts'

const now = { nowMs: 5_000, code: 'slot.spawn_failed', message: 'why', fingerprint: 'f1', isPermanent: false }

describe('nextFailure', () => {
  it('doubles from 30 s to 10 min, and stays there', () => {
    const delaysS: number[] = []
    let failure: TargetFailure | undefined
    for (let n = 1; n <= 60; n += 1) {
      failure = nextFailure(failure, { ...now, nowMs: n })
      expect(failure).toMatchObject({ failures: n, failedAtMs: n, code: now.code, message: 'why' })
      if (failure.retry.kind === 'after') delaysS.push(failure.retry.delayMs / 1_000)
    }
    expect(delaysS.slice(0, 8)).toEqual([30, 60, 120, 240, 480, 600, 600, 600])
    expect(new Set(delaysS.slice(5))).toEqual(new Set([600]))
  })

  it('for good: not before the fingerprint is another', () => {
    const first = nextFailure(undefined, { ...now, isPermanent: true })
    expect(first).toMatchObject({ failures: 1, retry: { kind: 'never', fingerprint: 'f1' } })
    expect(nextFailure(first, { ...now, isPermanent: true })).toMatchObject({ failures: 2 })
    expect(nextFailure(first, { ...now, fingerprint: 'f2' })).toMatchObject({
      failures: 1,
      retry: { kind: 'after', delayMs: 30_000 },
    })
  })

  it('one for good counts on from those before', () => {
    const first = nextFailure(undefined, now)
    expect(nextFailure(first, { ...now, isPermanent: true })).toMatchObject({ failures: 2, retry: { kind: 'never' } })
  })
})

describe('isPermanentFailure', () => {
  it.each([
    ['model.not_found', true],
    ['profile.not_found', true],
    ['slot.model_missing', true],
    ['slot.profile_missing', true],
    ['slot.config_error', true],
    ['config.invalid', true],
    ['profile.flag_denied', true],
    ['slot.flag_unsupported', true],
    ['slot.spawn_failed', false],
    ['slot.health_failed', false],
    ['slot.output_sanity_failed', false],
    ['slot.preload_evict_insufficient', false],
    ['dispatch.upstream_unavailable', false],
    ['hub.unreachable', false],
    ['internal', false],
  ])('%s', (code, expected) => {
    expect(isPermanentFailure(code, 'no line was found')).toBe(expected)
  })

  it.each([
    ["llama_model_load: error loading model: unknown model architecture: 'zeta'", true],
    ['error loading model: tensor data is not within the file bounds, model is corrupted or incomplete', true],
    ["gguf_init_from_file: invalid magic characters: 'abcd'", true],
    ['error loading model: missing tensor blk.0.attn_q.weight', true],
    ['not a GGUF file (it begins with "abcd", not "GGUF"): /m/a.gguf', true],
    ['model file not found: /m/a.gguf', true],
    ['ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory', false],
    ['error loading model: unable to allocate CUDA0 buffer', false],
    ['ggml_vulkan: Device memory allocation of size 1073741824 failed', false],
    ['terminate called after throwing std::bad_alloc', false],
    ["couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 9000", false],
    ['error: invalid argument: --no-such-flag', false],
    ['llama-server: error while loading shared libraries: libcuda.so.1', false],
    ['something nobody has seen before', false],
  ])('llama.cpp: %s', (line, expected) => {
    const cause = explainFailure([line], LLAMA_CPP_SIGNATURES)?.cause
    const message = `slot gpu0 could not be loaded: the engine exited with code 1 while it loaded: ${line}`
    expect(isPermanentFailure('slot.spawn_failed', message)).toBe(expected)
    expect(isPermanentFailure('slot.spawn_failed', 'no line was found', cause)).toBe(expected)
  })

  it.each([
    ["ValueError: Model architectures ['ZetaForCausalLM'] are not supported for now.", true],
    ['OSError: /m/a does not appear to have a file named config.json.', true],
    ['safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge', true],
    ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB', false],
    ['ValueError: No available memory for the cache blocks.', false],
    ['ValueError: 9 GiB KV cache is needed, which is larger than the available KV cache memory', false],
  ])('vLLM, SGLang: %s', (line, expected) => {
    expect(isPermanentFailure('slot.spawn_failed', `the engine exited with code 1 while it loaded: ${line}`)).toBe(
      expected,
    )
  })

  it('a known cause decides, whatever the words', () => {
    expect(isPermanentFailure('slot.spawn_failed', 'error loading model', 'out_of_memory')).toBe(false)
    expect(isPermanentFailure('slot.spawn_failed', 'x', 'bad_file')).toBe(true)
    expect(isPermanentFailure('slot.spawn_failed', 'x', 'unsupported_architecture')).toBe(true)
    expect(isPermanentFailure('slot.spawn_failed', 'not a GGUF file', null)).toBe(true)
  })

  it('what ended after it was up was no bad file', () => {
    expect(isPermanentFailure('dispatch.upstream_unavailable', 'error loading model: missing tensor')).toBe(false)
  })
})

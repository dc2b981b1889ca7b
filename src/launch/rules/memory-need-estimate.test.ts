import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PLAIN_GEOMETRY } from '../../../test/support/plain-geometry.ts'
import type { GgufFacts } from '../../contract/model.ts'
import { GIB, MIB } from '../../kernel/units.ts'
import { estimateMemoryNeed } from './memory-need-estimate.ts'
import type { NeedFile, NeedFlag, NeedRequest } from './memory-need-request.ts'

/** 3 layers of one head with 64 elements: 3 × 2 × 64 × 2 bytes = 768 bytes per cell, 256 per layer. */
const FACTS: GgufFacts = {
  kind: 'model',
  name: null,
  architecture: 'llama',
  native_ctx: 4_096,
  quant: null,
  parameters: null,
  has_chat_template: true,
  mtp_layers: 0,
  pooling: null,
  split: null,
  license: null,
  size_bytes: GIB,
  kv: { ...PLAIN_GEOMETRY, layers: 3 },
}
const file = (sizeBytes: number | null, facts: GgufFacts | null = FACTS): NeedFile => ({
  path: '/m/a.gguf',
  sizeBytes,
  facts,
})
const CTX = 2_048
/** Of `FACTS` at `CTX`. */
const CACHE = CTX * 768
const OVERHEAD = 1_024 * MIB

/** `--kv-unified`, `--parallel 4`, `--kv-offload=-nkvo`: canonical name, then the spelling after `=`. */
const flagsOf = (...lines: readonly string[]): readonly NeedFlag[] =>
  lines.map((line) => {
    const [name = '', ...values] = line.split(' ')
    const [canonical = '', flag = canonical] = name.split('=')
    return { canonical, flag, values }
  })

const request = (change: Partial<NeedRequest> = {}): NeedRequest => ({
  runner: 'cpu',
  dialect: 'llama-server',
  isSelfManaged: false,
  device: 'cpu',
  flags: [],
  env: {},
  ctxTokens: CTX,
  speculation: 'off',
  model: file(GIB),
  mmproj: undefined,
  drafter: undefined,
  adapters: [],
  ...change,
})

/** On a card, by `-ngl`; absent = all layers. */
const onGpu = (flags: readonly string[] = [], change: Partial<NeedRequest> = {}) =>
  request({ device: 'gpu-vulkan', runner: 'standard', flags: flagsOf(...flags), ...change })

const known = (from: NeedRequest) => {
  const need = estimateMemoryNeed(from)
  if (need.kind === 'unknown') throw new Error(need.reason)
  return need
}

describe('estimateMemoryNeed on a CPU', () => {
  it('takes weights, cache and overhead from main memory; the weights stay in the pages of the file', () => {
    expect(estimateMemoryNeed(request())).toEqual({
      kind: 'known',
      gpuBytes: 0,
      hostBytes: GIB + CACHE + OVERHEAD,
      mappedBytes: GIB,
      weightsBytes: GIB,
      cacheBytes: CACHE,
      overheadBytes: OVERHEAD,
    })
  })

  it.each([
    ['--mmap=--no-mmap', 0],
    ['--mlock', 0],
    ['--direct-io=-dio', 0],
    ['--load-mode none', 0],
    ['--load-mode mmap+mlock', 0],
    ['--load-mode mmap', GIB],
    ['--direct-io=--no-direct-io', GIB],
    ['--mmap', GIB],
  ])('%s: mapped are %d bytes', (flag, mappedBytes) => {
    expect(known(request({ flags: flagsOf(flag) }))).toMatchObject({ mappedBytes, hostBytes: GIB + CACHE + OVERHEAD })
  })

  it('counts projector, drafter with its own cache, and adapters', () => {
    const need = known(
      request({
        mmproj: file(3, null),
        drafter: file(5),
        adapters: [{ path: '/l', sizeBytes: 7 }],
        speculation: 'drafter',
        flags: flagsOf('--spec-draft-type-k f32', '--spec-draft-type-v f32'),
      }),
    )
    expect(need.weightsBytes).toBe(GIB + 15)
    expect(need.cacheBytes).toBe(CACHE + 2 * CACHE)
    expect(need.mappedBytes).toBe(GIB + 5)
  })

  it.each<readonly [readonly string[], number]>([
    [['--parallel 3'], 3 * 768 * 768],
    [['--parallel 3', '--kv-unified'], CACHE],
    [['--parallel 3', '--kv-unified=--no-kv-unified'], 3 * 768 * 768],
    [['--parallel -1'], CACHE],
    [['--cache-type-k q8_0', '--cache-type-v q8_0'], CTX * 3 * 4 * 34],
    // The last one wins, as in the engine.
    [['--cache-type-k q8_0', '--cache-type-k f16'], CACHE],
  ])('reads %j', (flags, cacheBytes) => {
    expect(known(request({ flags: flagsOf(...flags) })).cacheBytes).toBe(cacheBytes)
  })

  it.each<readonly [readonly string[], cells: number]>([
    // Left to itself, llama-server takes four sequences in one pool.
    [[], 768],
    [['--parallel 0'], 768],
    [['--kv-unified=--no-kv-unified'], 4 * 256],
    [['--parallel 4'], 4 * 256],
  ])('an odd context with %j makes %d cells', (flags, cells) => {
    expect(known(request({ ctxTokens: 700, flags: flagsOf(...flags) })).cacheBytes).toBe(cells * 768)
  })

  it('does not mind where experts are put: there is one place', () => {
    expect(known(request({ flags: flagsOf('--n-cpu-moe 4') })).gpuBytes).toBe(0)
  })
})

describe('estimateMemoryNeed on a GPU', () => {
  const HOST = 256 * MIB

  it('has it all there, and a little in main memory', () => {
    expect(estimateMemoryNeed(onGpu())).toEqual({
      kind: 'known',
      gpuBytes: GIB + CACHE + OVERHEAD,
      hostBytes: HOST,
      mappedBytes: 0,
      weightsBytes: GIB,
      cacheBytes: CACHE,
      overheadBytes: OVERHEAD + HOST,
    })
  })

  it.each<readonly [readonly string[], gpuBytes: number, mappedBytes: number]>([
    [['--n-gpu-layers 99'], GIB + CACHE + OVERHEAD, 0],
    [['--n-gpu-layers -1'], GIB + CACHE + OVERHEAD, 0],
    // 3 layers and the output: each a quarter.
    [['--n-gpu-layers 2'], GIB / 2 + CTX * 512 + OVERHEAD, GIB / 2],
    [['--n-gpu-layers 2', '--kv-offload=-nkvo'], GIB / 2 + OVERHEAD, GIB / 2],
    [['--n-gpu-layers 2', '--mmap=--no-mmap'], GIB / 2 + CTX * 512 + OVERHEAD, 0],
    [['--kv-offload=--no-kv-offload'], GIB + OVERHEAD, 0],
    [['--n-gpu-layers 0'], 0, GIB],
  ])('%j', (flags, gpuBytes, mappedBytes) => {
    expect(known(onGpu(flags))).toMatchObject({ gpuBytes, mappedBytes })
  })

  it('puts a projector and a drafter there, unless told otherwise', () => {
    const files = { mmproj: file(100, null), drafter: file(1_000), speculation: 'drafter' as const }
    expect(known(onGpu([], files)).gpuBytes).toBe(GIB + 1_100 + 2 * CACHE + OVERHEAD)
    expect(known(onGpu(['--spec-draft-device none', '--mmproj-offload=--no-mmproj-offload'], files)).gpuBytes).toBe(
      GIB + CACHE + OVERHEAD,
    )
    expect(known(onGpu(['--spec-draft-ngl 0'], files)).gpuBytes).toBe(GIB + 100 + CACHE + OVERHEAD)
  })
})

describe('estimateMemoryNeed of the embedded engine', () => {
  const embedded = (flags: readonly string[], change: Partial<NeedRequest> = {}) =>
    request({ runner: 'embedded', flags: flagsOf(...flags), ...change })

  it.each<readonly [readonly string[], number]>([
    [[], CACHE],
    [['--parallel 3'], 3 * CACHE],
    // A limit: more than one only where memory is plenty.
    [['--parallel 3', '--kv-unified'], CACHE],
    [['--cache-type-k q8_0'], CACHE],
  ])('gives each request a window of its own: %j', (flags, cacheBytes) => {
    expect(known(embedded(flags))).toMatchObject({ cacheBytes, gpuBytes: 0, mappedBytes: GIB })
  })

  it('never has a longer window than the model was made for', () => {
    expect(known(embedded([], { ctxTokens: 100_000 })).cacheBytes).toBe(2 * CACHE)
  })
})

describe('estimateMemoryNeed does not know', () => {
  it.each<readonly [string, NeedRequest]>([
    ['takes a share of the card by itself', request({ dialect: 'vllm' })],
    ['takes a share of the card by itself', request({ dialect: 'sglang' })],
    ['keeps its models by itself', request({ dialect: 'flm', device: 'npu' })],
    ['brings its own model', request({ isSelfManaged: true, dialect: 'template' })],
    ['runner mine is a template', request({ dialect: 'template', runner: 'mine' })],
    ['no model file', request({ model: undefined })],
    ['size of /m/a.gguf', request({ model: file(null) })],
    ['size of /m/a.gguf', request({ mmproj: file(null, null) })],
    ['size of /l', request({ adapters: [{ path: '/l', sizeBytes: null }] })],
    ['/m/a.gguf cannot be counted: its header cannot be read', request({ model: file(1, null) })],
    ['its header cannot be read', request({ drafter: file(1, null) })],
    ['how many layers', request({ model: file(1, { ...FACTS, kv: { ...FACTS.kv, layers: null } }) })],
    ['-ot puts parts', onGpu(['--override-tensor=-ot exps=CPU'])],
    ['--cpu-moe puts parts', onGpu(['--cpu-moe'])],
    ['-ncmoe puts parts', onGpu(['--n-cpu-moe=-ncmoe 4'])],
    ['--rpc puts parts', request({ flags: flagsOf('--rpc host:1') })],
    ['--override-kv replaces', request({ flags: flagsOf('--override-kv llama.block_count=int:2') })],
    ['LLAMA_ARG_CACHE_TYPE_K', request({ env: { LLAMA_ARG_CACHE_TYPE_K: 'f32' } })],
  ])('%s', (words, from) => {
    expect(estimateMemoryNeed(from)).toEqual({ kind: 'unknown', reason: expect.stringContaining(words) })
  })

  it.each([
    request({ env: { LLAMA_ARG_THREADS: '4' } }),
    request({ flags: flagsOf('--override-kv tokenizer.ggml.add_bos_token=bool:false') }),
  ])('but is not put off by what has nothing to do with it', (from) => {
    expect(estimateMemoryNeed(from).kind).toBe('known')
  })

  it('which layers use a window: it counts all, and says so', () => {
    const facts = { ...FACTS, architecture: 'new', kv: { ...FACTS.kv, sliding_window: 64 } }
    expect(known(request({ model: file(GIB, facts) })).note).toMatch(/which layers of new/)
  })
})

describe('recurrent models that draft', () => {
  it('keep a state for each token that may be taken back', () => {
    const ssm = { conv_kernel: 4, inner_size: 32, state_size: 8, group_count: 1 }
    const facts = { ...FACTS, architecture: 'mamba', kv: { ...FACTS.kv, kv_heads: 0, ssm } }
    const of = (change: Partial<NeedRequest>) => {
      return known(
        request({ model: file(GIB, facts), ...change, flags: [...flagsOf('--parallel 1'), ...(change.flags ?? [])] }),
      )
    }
    expect(of({}).cacheBytes).toBe(3 * 1_600)
    expect(of({ speculation: 'mtp' }).cacheBytes).toBe(3 * 1_600 * 4)
    expect(of({ speculation: 'mtp', flags: flagsOf('--spec-draft-n-max 7') }).cacheBytes).toBe(3 * 1_600 * 8)
    expect(of({ speculation: 'ngram' }).cacheBytes).toBe(3 * 1_600)
  })
})

it('whatever is placed where, nothing is lost and nothing counts twice', () => {
  const shape = fc.record({
    device: fc.constantFrom('cpu' as const, 'gpu-rocm' as const, 'gpu-cuda' as const),
    layers: fc.integer({ min: -1, max: 6 }),
    draftLayers: fc.integer({ min: -1, max: 6 }),
    extra: fc.subarray(['--kv-offload=-nkvo', '--mmap=--no-mmap', '--swa-full', '--parallel 3', '--kv-unified']),
    sizeBytes: fc.integer({ min: 0, max: 2 ** 45 }),
  })
  fc.assert(
    fc.property(shape, ({ device, layers, draftLayers, extra, sizeBytes }) => {
      const flags = flagsOf(`--n-gpu-layers ${layers}`, `--spec-draft-ngl ${draftLayers}`, ...extra)
      const need = known(
        request({
          device,
          flags,
          model: file(sizeBytes),
          drafter: file(12_345),
          mmproj: file(77, null),
          speculation: 'drafter',
        }),
      )
      expect(need.gpuBytes + need.hostBytes).toBe(need.weightsBytes + need.cacheBytes + need.overheadBytes)
      for (const bytes of [need.gpuBytes, need.hostBytes, need.mappedBytes]) {
        expect(Number.isSafeInteger(bytes) && bytes >= 0).toBe(true)
      }
      expect(need.mappedBytes).toBeLessThanOrEqual(need.hostBytes)
      if (device === 'cpu') expect(need.gpuBytes).toBe(0)
    }),
  )
})

import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildGguf, type GgufOptions, writeGguf } from '../../test/support/gguf-builder.ts'
import { type GgufFacts, ggufFactsSchema } from '../contract/model.ts'
import { checkModelFiles, readAllFacts, readGgufFacts } from './gguf-facts.ts'

const models = fileURLToPath(new URL('../../models/', import.meta.url))
const none = { tensors: [] }

let folder = ''
let nth = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-facts-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function factsOf(options: GgufOptions): Promise<GgufFacts> {
  const { path } = await writeGguf(join(folder, `${nth++}.gguf`), options)
  return readGgufFacts(path)
}

async function refusal(path: string): Promise<unknown> {
  return readGgufFacts(path).then(
    () => 'was read',
    (thrown: unknown) => thrown,
  )
}

/** From train-hello.py: D 160, four layers of four heads, FF 448, window 2048, 512 tokens. */
const hello: GgufFacts = {
  kind: 'model',
  name: 'hello-tiny',
  architecture: 'llama',
  native_ctx: 2_048,
  quant: 'Q8_0',
  // 2 · 512 · 160 + 160 + 4 · (2 · 160 + 4 · 160² + 3 · 160 · 448)
  parameters: 1_435_040,
  has_chat_template: true,
  mtp_layers: 0,
  pooling: null,
  split: null,
  license: 'mit',
  size_bytes: 1_543_392,
  kv: {
    layers: 4,
    kv_heads: 4,
    heads: 4,
    embedding_length: 160,
    key_length: null,
    value_length: null,
    kv_lora_rank: null,
    rope_dimensions: 40,
    sliding_window: null,
    sliding_window_pattern: null,
    vocabulary: 512,
    ssm: null,
  },
}

describe('the models that come with hal0', () => {
  it.each<[string, Partial<GgufFacts>]>([
    ['hello.gguf', {}],
    ['hello-f16.gguf', { quant: 'F16', size_bytes: 2_887_360 }],
    ['noise.gguf', { name: 'noise-tiny', quant: 'F16', size_bytes: 2_887_360 }],
  ])('%s', async (name, differing) => {
    expect(await readGgufFacts(join(models, name))).toEqual({ ...hello, ...differing })
  })
})

describe('readGgufFacts', () => {
  it.each<[string, GgufOptions, unknown]>([
    [
      'no architecture',
      { architecture: null, keys: { 'llama.context_length': 1 } },
      { architecture: null, native_ctx: null },
    ],
    ['an architecture that is no name', { architecture: 'a b\n' }, { architecture: null }],
    ['the window of another architecture', { keys: { 'bert.context_length': 1 } }, { native_ctx: null }],
    [
      'a window of 64 bits',
      { keys: { 'llama.context_length': { type: 'uint64', value: 131_072 } } },
      { native_ctx: 131_072 },
    ],
    ['a window of 0', { keys: { 'llama.context_length': 0 } }, { native_ctx: null }],
    ['a negative window', { keys: { 'llama.context_length': { type: 'int32', value: -1 } } }, { native_ctx: null }],
    [
      'a window that no number holds',
      { keys: { 'llama.context_length': { type: 'uint64', value: 2n ** 63n } } },
      { native_ctx: null },
    ],
    ['a window that is text', { keys: { 'llama.context_length': '9' } }, { native_ctx: null }],
    [
      'a window with a fraction',
      { keys: { 'llama.context_length': { type: 'float32', value: 9 } } },
      { native_ctx: null },
    ],
    ['a name that is a number', { keys: { 'general.name': 7 } }, { name: null }],
    ['a name that a terminal would obey', { keys: { 'general.name': '\u001B[2Jgone\0' } }, { name: '[2Jgone' }],
    ['a name of 300 letters', { keys: { 'general.name': 'n'.repeat(300) } }, { name: null }],
    ['a file type', { keys: { 'general.file_type': 15 } }, { quant: 'Q4_K_M' }],
    ['a guessed file type', { keys: { 'general.file_type': 1_024 + 18 } }, { quant: 'Q6_K' }],
    [
      'no file type: what most of the matrices are',
      { tensors: [tensor('a', [64, 2], 8), tensor('b', [32, 2], 1), tensor('c', [9_999], 0)] },
      { quant: 'Q8_0', parameters: 64 * 2 + 32 * 2 + 9_999 },
    ],
    [
      'an unknown file type',
      { keys: { 'general.file_type': 77 }, tensors: [tensor('a', [2, 2], 30)] },
      { quant: 'BF16' },
    ],
    ['vectors alone', {}, { quant: null, parameters: 32 }],
    [
      'a stated count of parameters',
      { keys: { 'general.parameter_count': { type: 'uint64', value: 8_000_000_000 } } },
      { parameters: 8e9 },
    ],
    ['no tensors', none, { parameters: null, kind: 'model' }],
    ['an empty chat template', { keys: { 'tokenizer.chat_template': '' } }, { has_chat_template: false }],
    ['a long chat template', { keys: { 'tokenizer.chat_template': 'x'.repeat(10_000) } }, { has_chat_template: true }],
    ['prediction layers', { keys: { 'llama.nextn_predict_layers': 1 } }, { mtp_layers: 1 }],
    ['pooling rank', { keys: { 'llama.pooling_type': 4 } }, { pooling: 'rank' }],
    ['pooling unspecified', { keys: { 'llama.pooling_type': { type: 'int32', value: -1 } } }, { pooling: null }],
    ['pooling unknown', { keys: { 'llama.pooling_type': 9 } }, { pooling: null }],
    ['the third of four parts', { ...none, keys: parts(2, 4) }, { split: { part: 3, parts: 4 } }],
    ['the only part', { keys: parts(0, 1) }, { split: null }],
    ['a part behind the last', { keys: parts(4, 4) }, { split: null }],
  ])('%s', async (_name, options, expected) => {
    const facts = await factsOf(options)
    expect(facts).toMatchObject(expected as object)
    expect(ggufFactsSchema.parse(facts)).toEqual(facts)
  })

  it.each<[GgufFacts['kind'], GgufOptions]>([
    ['mmproj', { architecture: 'clip' }],
    ['mmproj', { keys: { 'general.type': 'mmproj' } }],
    ['adapter', { keys: { 'general.type': 'adapter', 'adapter.type': 'lora' } }],
    ['adapter', { keys: { 'adapter.type': 'lora' } }],
    ['adapter', { architecture: 'controlvector' }],
    ['imatrix', { architecture: null, keys: { 'general.type': 'imatrix' } }],
    ['imatrix', { architecture: null, keys: { 'imatrix.chunk_count': 10 } }],
    ['vocabulary', { ...none, keys: { 'tokenizer.ggml.tokens': ['a', 'b'] } }],
    ['model', { ...none, keys: { 'tokenizer.ggml.tokens': ['a', 'b'], ...parts(0, 3) } }],
    ['model', { keys: { 'general.type': 'model', 'tokenizer.ggml.tokens': ['a', 'b'] } }],
    ['model', { ...none, architecture: null }],
  ])('kind %s: %j', async (kind, options) => {
    expect((await factsOf(options)).kind).toBe(kind)
  })

  it('names the numbers of the cache, whatever their integer type', async () => {
    const { kv } = await factsOf({
      architecture: 'deepseek2',
      keys: {
        'deepseek2.block_count': { type: 'uint8', value: 27 },
        'deepseek2.attention.head_count': { type: 'uint16', value: 128 },
        'deepseek2.attention.head_count_kv': { type: 'int64', value: 1 },
        'deepseek2.attention.key_length': 576,
        'deepseek2.attention.value_length': 512,
        'deepseek2.attention.kv_lora_rank': 512,
        'deepseek2.rope.dimension_count': 64,
        'deepseek2.vocab_size': 102_400,
      },
    })
    expect(kv).toEqual({
      ...hello.kv,
      layers: 27,
      heads: 128,
      kv_heads: 1,
      embedding_length: null,
      key_length: 576,
      value_length: 512,
      kv_lora_rank: 512,
      rope_dimensions: 64,
      vocabulary: 102_400,
    })
  })

  const hybrid = (keys: GgufOptions['keys']) => ({ keys: { 'llama.block_count': 4, ...keys } })
  it.each<[string, GgufOptions, unknown]>([
    ['heads per layer', hybrid({ 'llama.attention.head_count_kv': [0, 8, 0, 8] }), { kv_heads: [0, 8, 0, 8] }],
    ['no heads of K and V: as many as there are', hybrid({ 'llama.attention.head_count': 16 }), { kv_heads: 16 }],
    [
      'heads in fractions',
      hybrid({ 'llama.attention.head_count_kv': { type: 'float32', items: [1] } }),
      { kv_heads: null },
    ],
    [
      'more layers than are kept',
      hybrid({ 'llama.attention.head_count_kv': Array(1_025).fill(1) }),
      { kv_heads: null },
    ],
    [
      'every second layer attends',
      hybrid({ 'llama.attention.head_count_kv': 2, 'llama.full_attention_interval': 2, 'llama.ssm.state_size': 128 }),
      { kv_heads: [0, 2, 0, 2], ssm: { conv_kernel: null, inner_size: null, state_size: 128, group_count: null } },
    ],
    [
      'the last layer uses the cache of another',
      hybrid({ 'llama.attention.head_count_kv': 2, 'llama.attention.shared_kv_layers': 1 }),
      { kv_heads: [2, 2, 2, 0] },
    ],
    [
      'a sliding window with one flag per layer',
      hybrid({
        'llama.attention.sliding_window': 512,
        'llama.attention.sliding_window_pattern': [true, true, true, false],
      }),
      { sliding_window: 512, sliding_window_pattern: [true, true, true, false] },
    ],
    ['a sliding window of 0', hybrid({ 'llama.attention.sliding_window': 0 }), { sliding_window: null }],
    [
      'a sliding window in all but every sixth layer',
      hybrid({ 'llama.attention.sliding_window': 512, 'llama.attention.sliding_window_pattern': 6 }),
      { sliding_window: 512, sliding_window_pattern: 6 },
    ],
  ])('cache: %s', async (_name, options, expected) => {
    expect((await factsOf(options)).kv).toMatchObject(expected as object)
  })

  it('opens nothing but a regular file that starts like a GGUF, and waits for nobody', async () => {
    const pipe = join(folder, 'pipe.gguf')
    await promisify(execFile)('mkfifo', [pipe])
    await mkdir(join(folder, 'folder.gguf'))
    await writeFile(join(folder, 'empty.gguf'), '')
    await writeFile(join(folder, 'text.gguf'), 'hello')
    const places = ['absent.gguf', 'pipe.gguf', 'folder.gguf', 'empty.gguf', 'text.gguf'].map((name) =>
      join(folder, name),
    )
    for (const path of [...places, '/dev/zero']) {
      expect(await refusal(path)).toMatchObject({ code: 'slot.model_missing', message: expect.stringContaining(path) })
    }
  })

  it('names the file and what is damaged', async () => {
    const path = join(folder, 'damaged.gguf')
    await writeFile(path, buildGguf({ keys: { a: { raw: Buffer.alloc(0), typeNumber: 13 } } }))
    expect(await refusal(path)).toMatchObject({
      code: 'slot.config_error',
      message: `${path} has a damaged GGUF header: it has a value of the unknown type 13`,
    })
  })

  it('a download that broke off is told before an engine stumbles over it', async () => {
    const path = join(folder, 'cut.gguf')
    await copyFile(join(models, 'hello.gguf'), path)
    await truncate(path, 1_543_391)
    expect(await refusal(path)).toMatchObject({
      code: 'slot.config_error',
      message: expect.stringContaining('1 bytes after the end of the file: the file is cut short'),
    })
  })

  it('reads an unchanged file once, and sees every change', async () => {
    const path = join(folder, 'kept.gguf')
    const write = (ctxTokens: number) => writeGguf(path, { keys: { 'llama.context_length': ctxTokens } })
    await write(1_000)
    // So young that it may change again within the same tick of the file system's clock.
    expect(await readAllFacts(path)).toMatchObject({ reads: 1 })
    expect(await readAllFacts(path)).toMatchObject({ reads: 1 })
    await write(2_000)
    expect((await readGgufFacts(path)).native_ctx).toBe(2_000)
    // The bundled model is old.
    await readAllFacts(join(models, 'hello.gguf'))
    expect(await readAllFacts(join(models, 'hello.gguf'))).toMatchObject({ reads: 0, facts: hello })
    await write(3_000)
    expect((await readGgufFacts(path)).native_ctx).toBe(3_000)
  })
})

// CASES 30: a projector vanished, and returned.
it('checkModelFiles names the files that are not there', async () => {
  const [there, vanished, place] = ['there.gguf', 'vanished.gguf', 'place.gguf'].map((name) => join(folder, name))
  if (there === undefined || vanished === undefined || place === undefined) throw new Error('no names')
  await writeFile(there, 'x')
  await mkdir(place)
  expect(await checkModelFiles([vanished, there, place])).toEqual([vanished, place])
  await writeFile(vanished, 'x')
  expect(await checkModelFiles([vanished, there])).toEqual([])
  await chmod(there, 0o000)
  // Root reads everything.
  expect(await checkModelFiles([there])).toEqual(process.getuid?.() === 0 ? [] : [there])
})

function tensor(name: string, shape: readonly number[], type: number) {
  return { name, shape, type }
}

function parts(index: number, count: number): NonNullable<GgufOptions['keys']> {
  return {
    'split.no': { type: 'uint16', value: index },
    'split.count': { type: 'uint16', value: count },
    'split.tensors.count': { type: 'int32', value: 9 },
  }
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GgufFacts } from '../../contract/model.ts'
import { type GroupFile, groupFiles } from './group-files.ts'

interface About {
  readonly kind?: GgufFacts['kind']
  readonly size?: number
  readonly split?: GgufFacts['split']
  readonly quant?: string
  readonly embedding?: number
  readonly projection?: number
  readonly vocabulary?: number
  readonly tokenizer?: string
  readonly elements?: number | null
  readonly stated?: number
}

function file(name: string, about: About = {}): GroupFile {
  const elements = about.elements === undefined ? 10 : about.elements
  return {
    name,
    path: `/m/${name}`,
    facts: {
      kind: about.kind ?? 'model',
      name: null,
      architecture: 'llama',
      native_ctx: null,
      quant: about.quant ?? 'F16',
      parameters: about.stated ?? elements,
      has_chat_template: false,
      mtp_layers: 0,
      pooling: null,
      split: about.split ?? null,
      license: null,
      size_bytes: about.size ?? 100,
      kv: {
        layers: null,
        kv_heads: null,
        heads: null,
        embedding_length: about.embedding ?? null,
        key_length: null,
        value_length: null,
        kv_lora_rank: null,
        rope_dimensions: null,
        sliding_window: null,
        sliding_window_pattern: null,
        vocabulary: about.vocabulary ?? null,
        ssm: null,
      },
    },
    pairing: {
      tokenizer: about.tokenizer ?? null,
      projectionLength: about.projection ?? null,
      statedParameters: about.stated ?? null,
      elements,
    },
  }
}
const projector = (name: string, about: About = {}) => file(name, { kind: 'mmproj', ...about })

const part = (nth: number, about: About = {}) => file(`big-0000${nth}-of-00004.gguf`, { size: nth * 1_000, ...about })
const paths = (...nths: number[]) => nths.map((nth) => `/m/big-0000${nth}-of-00004.gguf`)

// CASES 29.
describe('parts of a split model', () => {
  it('are one model in any order, named by the first, with sizes and parameters summed', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([1, 2, 3, 4], { minLength: 4 }), (order) => {
        const { models, skipped } = groupFiles(order.map((nth) => part(nth)))
        expect(skipped).toEqual([])
        expect(models).toMatchObject([
          { path: paths(1)[0], files: paths(1, 2, 3, 4), missing: [], size_bytes: 10_000, facts: { parameters: 40 } },
        ])
      }),
    )
  })

  it.each([
    ['one in the middle', [4, 1, 2], [1, 2, 4], [3], 7_000],
    ['the first', [2, 3, 4], [2, 3, 4], [1], 9_000],
    ['all but one', [4], [4], [1, 2, 3], 4_000],
  ])('missing: %s', (_name, there, files, missing, sizeBytes) => {
    const { models } = groupFiles(there.map((nth) => part(nth)))
    expect(models).toMatchObject([
      {
        path: paths(1)[0],
        files: paths(...files),
        missing: paths(...missing),
        size_bytes: sizeBytes,
        facts: { parameters: null },
      },
    ])
  })

  it('of different sets are not mixed', () => {
    const names = ['a-00001-of-00002', 'a-00001-of-00003', 'a-00002-of-00002', 'b-00002-of-00002', 'a']
    const { models } = groupFiles(names.map((name) => file(`${name}.gguf`)))
    expect(models.map(({ path, files, missing }) => [path, files.length, missing.length])).toEqual([
      ['/m/a-00001-of-00002.gguf', 2, 0],
      ['/m/a-00001-of-00003.gguf', 1, 2],
      ['/m/a.gguf', 1, 0],
      ['/m/b-00001-of-00002.gguf', 1, 1],
    ])
  })

  it.each([
    ['another number', part(2, { split: { part: 3, parts: 4 } }), 'says part 3 of 4, its name says part 2 of 4'],
    ['another total', part(2, { split: { part: 2, parts: 5 } }), 'says part 2 of 5, its name says part 2 of 4'],
    ['no number', file('two.gguf', { split: { part: 2, parts: 4 } }), 'should end with -00002-of-00004.gguf'],
  ])('the name has %s than the header: it is no part', (_name, odd, reason) => {
    const { models, skipped } = groupFiles([part(1, { split: { part: 1, parts: 4 } }), odd])
    expect(skipped).toEqual([{ path: odd.path, reason: expect.stringContaining(reason) }])
    expect(models).toMatchObject([{ files: paths(1), missing: paths(2, 3, 4) }])
  })

  it.each([
    'x-00000-of-00004.gguf',
    'x-00005-of-00004.gguf',
    'x-00001-of-99999.gguf',
    'x-1-of-4.gguf',
    '-00001-of-00002',
  ])('%s is no part of anything', (name) => {
    expect(groupFiles([file(name)]).models).toMatchObject([{ path: `/m/${name}`, missing: [] }])
  })

  it('without any tensor in the first: the others count', () => {
    const { models } = groupFiles([part(1, { elements: 0 }), part(2), part(3), part(4)])
    expect(models).toMatchObject([{ facts: { parameters: 30 } }])
  })

  it.each([
    ['one that could not be counted', part(3, { elements: null }), null],
    ['a stated number wins', part(3), 77],
  ])('parameters: %s', (_name, third, parameters) => {
    const first = part(1, parameters === null ? {} : { stated: parameters })
    expect(groupFiles([first, part(2), third, part(4)]).models).toMatchObject([{ facts: { parameters } }])
  })
})

describe('projectors', () => {
  const paired = (files: readonly GroupFile[]) =>
    Object.fromEntries(groupFiles(files).models.map((model) => [model.path, model.mmproj]))
  it.each<[string, GroupFile[], Record<string, string | null>]>([
    ['alone with one model', [file('a.gguf'), projector('mmproj-F16.gguf')], { '/m/a.gguf': '/m/mmproj-F16.gguf' }],
    [
      'by its header, whatever it is called',
      [file('a.gguf'), projector('a-vis.gguf')],
      { '/m/a.gguf': '/m/a-vis.gguf' },
    ],
    [
      'for all quantisations of the only model',
      [file('a-7b-Q4_K_M.gguf'), file('a-7b-Q8_0.gguf'), projector('mmproj-model-f16.gguf')],
      { '/m/a-7b-Q4_K_M.gguf': '/m/mmproj-model-f16.gguf', '/m/a-7b-Q8_0.gguf': '/m/mmproj-model-f16.gguf' },
    ],
    [
      'by its name among several',
      [file('a-vl-7b-Q4_K_M.gguf'), file('b.gguf'), projector('mmproj-a-vl-7b-f16.gguf')],
      { '/m/a-vl-7b-Q4_K_M.gguf': '/m/mmproj-a-vl-7b-f16.gguf', '/m/b.gguf': null },
    ],
    [
      'by the start of the name, when that is one model',
      [file('a-vl-7b-Q4_K_M.gguf'), file('b.gguf'), projector('a-vl-mmproj-f16.gguf')],
      { '/m/a-vl-7b-Q4_K_M.gguf': '/m/a-vl-mmproj-f16.gguf', '/m/b.gguf': null },
    ],
    [
      'never by the start of two names',
      [file('a-vl-7b.gguf'), file('a-vl-72b.gguf'), projector('mmproj-a-vl.gguf')],
      { '/m/a-vl-7b.gguf': null, '/m/a-vl-72b.gguf': null },
    ],
    [
      'never nameless among several models',
      [file('a.gguf'), file('b.gguf'), projector('mmproj-F16.gguf')],
      { '/m/a.gguf': null, '/m/b.gguf': null },
    ],
    [
      'never nameless among several nameless models',
      [file('ggml-model-q4_0.gguf'), file('model.gguf'), projector('mmproj-model-f16.gguf')],
      { '/m/ggml-model-q4_0.gguf': null, '/m/model.gguf': null },
    ],
    [
      'two different ones',
      [file('a.gguf'), projector('mmproj-a1.gguf'), projector('mmproj-a2.gguf')],
      { '/m/a.gguf': null },
    ],
    [
      'left over from another model',
      [
        file('qwen3-4b-Q4_K_M.gguf', { embedding: 2_560 }),
        projector('mmproj-gemma-3-4b-it-f16.gguf', { projection: 2_560 }),
      ],
      { '/m/qwen3-4b-Q4_K_M.gguf': null },
    ],
    [
      'spelled a little differently',
      [file('Qwen2-VL-2B-Instruct-Q4_K_M.gguf'), projector('mmproj-qwen2vl-f16.gguf')],
      { '/m/Qwen2-VL-2B-Instruct-Q4_K_M.gguf': '/m/mmproj-qwen2vl-f16.gguf' },
    ],
    [
      'with another embedding size, even by name',
      [file('a.gguf', { embedding: 4_096 }), projector('mmproj-a.gguf', { projection: 2_560 })],
      { '/m/a.gguf': null },
    ],
    [
      'with the same embedding size',
      [file('a.gguf', { embedding: 4_096 }), projector('mmproj-a.gguf', { projection: 4_096 })],
      { '/m/a.gguf': '/m/mmproj-a.gguf' },
    ],
    [
      'in several precisions: half precision',
      [file('a.gguf'), ...['F32', 'BF16', 'F16'].map((quant) => projector(`mmproj-${quant}.gguf`, { quant }))],
      { '/m/a.gguf': '/m/mmproj-F16.gguf' },
    ],
    [
      'for a split model',
      [file('a-00001-of-00002.gguf'), file('a-00002-of-00002.gguf'), projector('mmproj-a.gguf')],
      { '/m/a-00001-of-00002.gguf': '/m/mmproj-a.gguf' },
    ],
    ['without any model', [projector('mmproj-a.gguf')], {}],
  ])('%s', (_name, files, expected) => {
    expect(paired(files)).toEqual(expected)
    expect(paired(files.toReversed())).toEqual(expected)
  })

  it('one that belongs to nobody is told, one that does is not', () => {
    expect(groupFiles([file('a.gguf'), file('b.gguf'), projector('mmproj-F16.gguf')]).skipped).toEqual([
      { path: '/m/mmproj-F16.gguf', reason: expect.stringContaining('projector') },
    ])
    const variants = [projector('mmproj-F16.gguf'), projector('mmproj-F32.gguf', { quant: 'F32' })]
    expect(groupFiles([file('a.gguf'), ...variants]).skipped).toEqual([])
  })
})

describe('drafters', () => {
  const main = file('Big-32B-Q4_K_M.gguf', { size: 900, vocabulary: 5, tokenizer: 'gpt2' })
  const small = { size: 300, vocabulary: 5, tokenizer: 'gpt2' }
  it.each<[string, GroupFile[], string | null]>([
    [
      'name of its model, then the mark',
      [file('Big-32B-draft-0.6B-Q8_0.gguf', small)],
      '/m/Big-32B-draft-0.6B-Q8_0.gguf',
    ],
    ['the mark, then the name', [file('draft-big.gguf', small)], '/m/draft-big.gguf'],
    ['no mark', [file('Big-0.6B.gguf', small)], null],
    ['a mark inside a word', [file('Big-draftsman.gguf', small)], null],
    ['the mark alone', [file('draft.gguf', small)], null],
    ['the name of another model', [file('Other-draft.gguf', small)], null],
    ['not much smaller', [file('Big-draft.gguf', { ...small, size: 301 })], null],
    ['another vocabulary', [file('Big-draft.gguf', { ...small, vocabulary: 6 })], null],
    ['another tokenizer', [file('Big-draft.gguf', { ...small, tokenizer: 'llama' })], null],
    ['an unknown vocabulary', [file('Big-draft.gguf', { size: 1 })], null],
    ['two of them', [file('Big-draft-1B.gguf', small), file('Big-draft-2B.gguf', small)], null],
    ['a part of it is missing', [file('Big-draft-00001-of-00002.gguf', small)], null],
  ])('%s', (_name, others, expected) => {
    const { models } = groupFiles([...others, main])
    expect(models.find((model) => model.path === main.path)?.drafter).toBe(expected)
    // One that was paired is no model of its own; one that was not still is.
    expect(models).toHaveLength(expected === null ? others.length + 1 : 1)
  })
})

it.each([
  ['adapter', 'an adapter'],
  ['imatrix', 'an importance matrix'],
  ['vocabulary', 'a vocabulary'],
] as const)('a file of kind %s is passed over', (kind, reason) => {
  const { models, skipped } = groupFiles([file('x.gguf', { kind })])
  expect(models).toEqual([])
  expect(skipped).toEqual([{ path: '/m/x.gguf', reason: expect.stringContaining(reason) }])
})

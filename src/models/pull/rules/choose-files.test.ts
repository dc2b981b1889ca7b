import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseFiles } from './choose-files.ts'
import type { HubFile } from './hub-file.ts'

const repoOf = (...paths: string[]): HubFile[] => paths.map((path) => ({ path, sizeBytes: 1, sha256: null }))
const PLAIN = repoOf('README.md', 'm-Q4_K_M.gguf', 'm-Q8_0.gguf', 'm-Q4_K_S.gguf', 'm-F16.gguf')

describe('chooseFiles', () => {
  it.each([
    { name: 'the default quant', files: PLAIN, want: {}, model: ['m-Q4_K_M.gguf'] },
    { name: 'a quant in lower case', files: PLAIN, want: { quant: 'q8_0' }, model: ['m-Q8_0.gguf'] },
    {
      name: 'F16, which is not in BF16',
      files: [...PLAIN, ...repoOf('m-BF16.gguf')],
      want: { quant: 'f16' },
      model: ['m-F16.gguf'],
    },
    { name: 'the only model, whatever it is', files: repoOf('m-Q2_K.gguf', 'x.txt'), want: {}, model: ['m-Q2_K.gguf'] },
    {
      name: 'the only model, whose name is silent',
      files: repoOf('model.gguf'),
      want: { quant: 'Q4_K_M' },
      model: ['model.gguf'],
    },
    {
      name: 'a quant after an underscore',
      files: repoOf('m_Q4_K_M.gguf', 'm_Q8_0.gguf'),
      want: {},
      model: ['m_Q4_K_M.gguf'],
    },
    { name: 'a quant after a dot', files: repoOf('m.Q4_K_M.gguf', 'm.Q8_0.gguf'), want: {}, model: ['m.Q4_K_M.gguf'] },
    {
      name: 'a plain one before a dynamic one',
      files: repoOf('m-UD-Q4_K_M.gguf', 'm-Q4_K_M.gguf'),
      want: {},
      model: ['m-Q4_K_M.gguf'],
    },
    {
      name: 'a dynamic one when there is no plain',
      files: repoOf('m-UD-Q4_K_XL.gguf', 'm-Q8_0.gguf'),
      want: { quant: 'Q4_K_XL' },
      model: ['m-UD-Q4_K_XL.gguf'],
    },
    {
      name: 'a quant that only the folder tells',
      files: repoOf('Q4_K_M/m.gguf', 'Q8_0/m.gguf'),
      want: { quant: 'Q8_0' },
      model: ['Q8_0/m.gguf'],
    },
    { name: 'a file by its path', files: PLAIN, want: { file: 'm-Q8_0.gguf' }, model: ['m-Q8_0.gguf'] },
    {
      name: 'a file by its name alone',
      files: repoOf('deep/m-Q8_0.gguf', 'x.gguf'),
      want: { file: 'M-q8_0.gguf' },
      model: ['deep/m-Q8_0.gguf'],
    },
    {
      name: 'all parts, in order, whichever is named',
      files: repoOf('m-Q8_0-00002-of-00002.gguf', 'm-Q8_0-00001-of-00002.gguf', 'm-Q4_K_M.gguf'),
      want: { file: 'm-Q8_0-00002-of-00002.gguf' },
      model: ['m-Q8_0-00001-of-00002.gguf', 'm-Q8_0-00002-of-00002.gguf'],
    },
    { name: 'no importance matrix', files: repoOf('m.imatrix.gguf', 'm-Q2_K.gguf'), want: {}, model: ['m-Q2_K.gguf'] },
  ])('$name', ({ files, want, model }) => {
    const choice = chooseFiles(files, want)
    expect(choice.ok ? choice.value.model.map(({ path }) => path) : choice.error).toEqual(model)
  })

  it.each([
    {
      name: 'no model',
      files: repoOf('README.md'),
      want: {},
      param: 'repo',
      text: /no model file/,
      choices: ['README.md'],
    },
    {
      name: 'only a projector',
      files: repoOf('mmproj-F16.gguf'),
      want: {},
      param: 'repo',
      text: /no model file/,
      choices: ['mmproj-F16.gguf'],
    },
    {
      name: 'no default quant among several',
      files: repoOf('m-Q2_K.gguf', 'm-Q8_0.gguf'),
      want: {},
      param: 'quant',
      text: /no model in Q4_K_M/,
      choices: ['m-Q2_K.gguf', 'm-Q8_0.gguf'],
    },
    {
      name: 'another quant than the only one',
      files: repoOf('m-Q8_0.gguf'),
      want: { quant: 'Q4_K_M' },
      param: 'quant',
      text: /Q4_K_M/,
      choices: ['m-Q8_0.gguf'],
    },
    {
      name: 'half a quant',
      files: repoOf('m-Q4_K_M.gguf', 'm-Q4_K_S.gguf'),
      want: { quant: 'Q4_K' },
      param: 'quant',
      text: /no model in Q4_K$/,
      choices: ['m-Q4_K_M.gguf', 'm-Q4_K_S.gguf'],
    },
    {
      name: 'two models in it',
      files: repoOf('a-Q4_K_M.gguf', 'b-Q4_K_M.gguf', 'c-Q8_0.gguf'),
      want: {},
      param: 'file',
      text: /several models/,
      choices: ['a-Q4_K_M.gguf', 'b-Q4_K_M.gguf'],
    },
    {
      name: 'two files of one name',
      files: repoOf('a/m.gguf', 'b/m.gguf'),
      want: { file: 'm.gguf' },
      param: 'file',
      text: /name the folder/,
      choices: ['a/m.gguf', 'b/m.gguf'],
    },
    {
      name: 'a projector by name',
      files: repoOf('mmproj-F16.gguf', 'm-Q8_0.gguf'),
      want: { file: 'mmproj-F16.gguf' },
      param: 'file',
      text: /is no model by itself/,
      choices: ['m-Q8_0.gguf'],
    },
    {
      name: 'a missing file, near ones first',
      files: PLAIN,
      want: { file: 'm-Q8.gguf' },
      param: 'file',
      text: /no file m-Q8/,
      choices: ['m-Q8_0.gguf', 'm-F16.gguf', 'm-Q4_K_M.gguf', 'm-Q4_K_S.gguf'],
    },
    {
      name: 'a missing part',
      files: repoOf('m-00001-of-00003.gguf', 'm-00003-of-00003.gguf'),
      want: {},
      param: 'repo',
      text: /lacks parts of m-00001-of-00003\.gguf: m-00002-of-00003\.gguf/,
      // What is there; the missing part was told as being there.
      choices: ['m-00001-of-00003.gguf', 'm-00003-of-00003.gguf'],
    },
  ])('refuses $name', ({ files, want, param, text, choices }) => {
    const choice = chooseFiles(files, want)
    if (choice.ok) throw new Error('it chose')
    expect(choice.error).toMatchObject({ param, choices })
    expect(choice.error.reason).toMatch(text)
  })

  it.each([
    {
      name: 'F16 first',
      projectors: ['mmproj-BF16.gguf', 'mmproj-F16.gguf', 'mmproj-F32.gguf'],
      projector: 'mmproj-F16.gguf',
    },
    {
      name: 'then BF16',
      projectors: ['mmproj-F32.gguf', 'mmproj-BF16.gguf', 'mmproj-Q8_0.gguf'],
      projector: 'mmproj-BF16.gguf',
    },
    { name: 'then F32', projectors: ['mmproj-Q8_0.gguf', 'mmproj-F32.gguf'], projector: 'mmproj-F32.gguf' },
    { name: 'then any', projectors: ['mmproj-Q8_0.gguf'], projector: 'mmproj-Q8_0.gguf' },
    {
      name: 'that of the model',
      projectors: ['mmproj-other-F16.gguf', 'mmproj-m-BF16.gguf'],
      projector: 'mmproj-m-BF16.gguf',
    },
    { name: 'with the word behind', projectors: ['m-mmproj-f16.gguf'], projector: 'm-mmproj-f16.gguf' },
    { name: 'none of another folder', projectors: ['else/mmproj-F16.gguf'], projector: null },
    { name: 'none', projectors: [], projector: null },
  ])('projector: $name', ({ projectors, projector }) => {
    const choice = chooseFiles(repoOf(...projectors, 'm-Q4_K_M.gguf'), {})
    expect(choice.ok ? (choice.value.projector?.path ?? null) : choice.error).toBe(projector)
  })

  it('never chooses what is not listed, and a split model never in part', () => {
    const path = fc.constantFrom(
      'a-Q4_K_M.gguf',
      'b.gguf',
      'a-00001-of-00002.gguf',
      'a-00002-of-00002.gguf',
      'mmproj-F16.gguf',
      'x.md',
    )
    fc.assert(
      fc.property(fc.uniqueArray(path), fc.option(path, { nil: undefined }), (paths, file) => {
        const choice = chooseFiles(repoOf(...paths), { file })
        if (!choice.ok) return
        const model = choice.value.model.map((each) => each.path)
        expect(paths).toEqual(expect.arrayContaining(model))
        if (model[0]?.includes('-of-') === true) expect(model).toHaveLength(2)
        if (file !== undefined) expect(model).toContain(file)
      }),
    )
  })
})

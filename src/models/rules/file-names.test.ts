import { describe, expect, it } from 'vitest'
import { chooseFiles } from '../pull/rules/choose-files.ts'
import { hasQuant, isProjectorName, modelWords, quantOf, splitPartName } from './file-names.ts'

describe('the quantisation in a name', () => {
  it.each([
    ['m-Q4_K_M.gguf', 'Q4_K_M', ['m']],
    ['m_q8_0.gguf', 'Q8_0', ['m']],
    ['m.IQ3_XXS.gguf', 'IQ3_XXS', ['m']],
    ['m-UD-Q4_K_XL.gguf', 'UD-Q4_K_XL', ['m']],
    ['m-i1-Q4_K_M.gguf', 'Q4_K_M', ['m']],
    ['m-fp16.gguf', 'F16', ['m']],
    ['m-FP32.gguf', 'F32', ['m']],
    ['m-MXFP4_MOE.gguf', 'MXFP4_MOE', ['m']],
    ['m-NVFP4.gguf', 'NVFP4', ['m']],
    ['m-TQ1_0.gguf', 'TQ1_0', ['m']],
    ['m-bf16-00001-of-00002.gguf', 'BF16', ['m']],
    ['Q4_K_M/m-00001-of-00003.gguf', 'Q4_K_M', undefined],
    ['my.folder-Q2_K/deep/m.gguf', 'Q2_K', undefined],
    ['ggml-model-f16.gguf', 'F16', []],
    ['qwen3-coder_7b.gguf', null, ['qwen3', 'coder', '7b']],
  ])('%s tells %s', (path, quant, words) => {
    expect(quantOf(path)).toBe(quant)
    if (quant !== null) expect(hasQuant(path, quant)).toBe(true)
    // The rest is the model's own name, to whoever asks.
    if (words !== undefined) expect(modelWords(path)).toEqual(words)
  })
})

const repoOf = (...paths: string[]) => paths.map((path) => ({ path, sizeBytes: 1, sha256: null }))

describe('a pull reads names as a scan does', () => {
  it('a projector', () => {
    expect(isProjectorName('m-projector-f16.gguf')).toBe(true)
    const choice = chooseFiles(repoOf('m-Q8_0.gguf', 'm-projector-f16.gguf'), {})
    expect(choice).toMatchObject({
      ok: true,
      value: { model: [{ path: 'm-Q8_0.gguf' }], projector: { path: 'm-projector-f16.gguf' } },
    })
  })

  it.each(['m-00000-of-00002.gguf', 'm-00003-of-00002.gguf', 'm-00001-of-99999.gguf'])(
    '%s is no part of a split model',
    (path) => {
      expect(splitPartName(path)).toBeUndefined()
      expect(chooseFiles(repoOf(path), {})).toMatchObject({ ok: true, value: { model: [{ path }] } })
    },
  )
})

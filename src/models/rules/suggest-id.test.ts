import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MODEL_ID_PATTERN } from '../../contract/names.ts'
import { suggestModelId } from './suggest-id.ts'

it.each([
  ['Qwen3-4B-Q4_K_M.gguf', [], 'qwen3-4b-q4_k_m'],
  ['/models/a/Qwen3-4B.GGUF', [], 'qwen3-4b'],
  ['Big-00001-of-00004.gguf', [], 'big'],
  ['Big-00009-of-00004.gguf', [], 'big-00009-of-00004'],
  ['my model (1).gguf', [], 'my-model-1'],
  ['Модель.gguf', [], 'model'],
  ['_._.gguf', [], 'model'],
  ['.gguf', ['model'], 'model-2'],
  ['a.gguf', ['b'], 'a'],
  ['a.gguf', ['a', 'a-2', 'a-3'], 'a-4'],
])('%s, taken %j → %s', (fileName, taken, expected) => {
  expect(suggestModelId(fileName, new Set(taken))).toBe(expected)
})

it('always gives a free id that the contract allows', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.nat(3), (name, again) => {
      const taken = new Set<string>()
      for (let nth = 0; nth <= again; nth++) {
        const id = suggestModelId(name, taken)
        expect(id).toMatch(MODEL_ID_PATTERN)
        expect(taken.has(id)).toBe(false)
        taken.add(id)
      }
    }),
  )
})

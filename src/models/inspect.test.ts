import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GgufOptions, writeGguf } from '../../test/support/gguf-builder.ts'
import { inspectModel } from './inspect.ts'

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hal0-inspect-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const at = (path: string) => join(root, path)
async function put(path: string, options: GgufOptions = {}, sizeBytes = 0): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true })
  await writeGguf(at(path), options, sizeBytes)
}
const projector: GgufOptions = { architecture: 'clip' }
const part = (nth: number, parts: number): GgufOptions => ({
  keys: { 'split.no': { type: 'uint16', value: nth - 1 }, 'split.count': { type: 'uint16', value: parts } },
})

describe('inspectModel', () => {
  it.each([1, 2, 3])('part %i of three names the whole model with its projector', async (nth) => {
    for (const one of [1, 2, 3]) await put(`big-0000${one}-of-00003.gguf`, part(one, 3), one * 1_000)
    await put('mmproj-big.gguf', projector)
    await put('other.gguf')
    expect(await inspectModel(at(`big-0000${nth}-of-00003.gguf`))).toMatchObject({
      path: at('big-00001-of-00003.gguf'),
      files: [1, 2, 3].map((one) => at(`big-0000${one}-of-00003.gguf`)),
      missing: [],
      size_bytes: 6_000,
      mmproj: at('mmproj-big.gguf'),
    })
  })

  it('names the part that is missing', async () => {
    await put('big-00001-of-00002.gguf', part(1, 2))
    expect(await inspectModel(at('big-00001-of-00002.gguf'))).toMatchObject({
      files: [at('big-00001-of-00002.gguf')],
      missing: [at('big-00002-of-00002.gguf')],
    })
  })

  it.each([2, 40])(
    'among %i other models a nameless projector belongs to nobody, a named one to its model',
    async (count) => {
      for (let nth = 0; nth < count; nth++) await put(`other-${'abcdefghij'[nth % 10]}${nth}.gguf`)
      await put('seer-7b-Q4_K_M.gguf')
      await put('mmproj-F16.gguf', projector)
      expect(await inspectModel(at('seer-7b-Q4_K_M.gguf'))).toMatchObject({ mmproj: null })
      await put('mmproj-seer-7b.gguf', projector)
      expect(await inspectModel(at('seer-7b-Q4_K_M.gguf'))).toMatchObject({ mmproj: at('mmproj-seer-7b.gguf') })
      expect(await inspectModel(at('other-b1.gguf'))).toMatchObject({ path: at('other-b1.gguf'), mmproj: null })
    },
  )

  it.each<[string, GgufOptions]>([
    ['mmproj', projector],
    ['adapter', { keys: { 'general.type': 'adapter' } }],
    ['imatrix', { keys: { 'general.type': 'imatrix' } }],
  ])('a file of kind %s is told for itself', async (kind, options) => {
    await put('model.gguf')
    await put('it.gguf', options)
    expect(await inspectModel(at('it.gguf'))).toMatchObject({
      path: at('it.gguf'),
      files: [at('it.gguf')],
      facts: { kind },
    })
  })

  it('finds the drafter of a model, and tells the drafter for itself', async () => {
    const keys = { 'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.tokens': ['a', 'b'] }
    await put('big-Q4_K_M.gguf', { keys }, 100_000)
    await put('big-draft-Q8_0.gguf', { keys }, 10_000)
    expect(await inspectModel(at('big-Q4_K_M.gguf'))).toMatchObject({ drafter: at('big-draft-Q8_0.gguf') })
    expect(await inspectModel(at('big-draft-Q8_0.gguf'))).toMatchObject({
      path: at('big-draft-Q8_0.gguf'),
      drafter: null,
    })
  })

  it('a folder stands for the one model in it', async () => {
    await put('one/model.gguf')
    await put('one/mmproj-F16.gguf', projector)
    expect(await inspectModel(at('one'))).toMatchObject({
      path: at('one/model.gguf'),
      mmproj: at('one/mmproj-F16.gguf'),
    })
    await put('one/second.gguf')
    await expect(inspectModel(at('one'))).rejects.toMatchObject({
      code: 'slot.model_missing',
      message: expect.stringContaining('a folder with 2 models'),
    })
  })

  it('reads a file without an ending, as caches keep them', async () => {
    await put('sha256-abc')
    expect(await inspectModel(at('sha256-abc'))).toMatchObject({ files: [at('sha256-abc')], missing: [] })
  })

  it.each([
    ['nothing there', 'absent.gguf', 'slot.model_missing', 'there is no file'],
    ['text', 'text.gguf', 'slot.model_missing', 'is not a GGUF file'],
    ['a header that contradicts the name', 'x-00001-of-00002.gguf', 'slot.config_error', 'says part 2 of 3'],
    [
      'another part that is damaged',
      'y-00001-of-00002.gguf',
      'slot.config_error',
      'y-00002-of-00002.gguf has a damaged',
    ],
  ])('refuses %s', async (_name, name, code, text) => {
    await writeFile(at('text.gguf'), 'text')
    await put('x-00001-of-00002.gguf', part(2, 3))
    await put('y-00001-of-00002.gguf', part(1, 2))
    await put('y-00002-of-00002.gguf', { ...part(2, 2), version: 9 })
    await expect(inspectModel(at(name))).rejects.toMatchObject({ code, message: expect.stringContaining(text) })
  })

  it('another file that is damaged changes nothing', async () => {
    await put('model.gguf')
    await writeFile(at('broken.gguf'), 'GGUF')
    expect(await inspectModel(at('model.gguf'))).toMatchObject({ path: at('model.gguf') })
  })
})

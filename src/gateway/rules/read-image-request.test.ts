import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseImageSize, readImageRequest } from './read-image-request.ts'

const PLAIN = { prompt: 'a fox', negative: '', count: 1, size: undefined, steps: undefined, seed: undefined }

describe('readImageRequest', () => {
  it.each([
    ['the least', {}, {}],
    [
      'all of it',
      { n: 10, size: '512x768', steps: 4, seed: 0, negative_prompt: 'text' },
      { count: 10, size: { width: 512, height: 768 }, steps: 4, seed: 0, negative: 'text' },
    ],
    ['null is absent', { n: null, size: null, response_format: null, stream: null, seed: null }, {}],
    ['auto', { size: 'auto' }, {}],
    [
      'what steers others',
      {
        quality: 'hd',
        style: 'vivid',
        user: 'u',
        moderation: 'low',
        background: 'auto',
        output_format: 'png',
        output_compression: 90,
        stream: false,
        partial_images: 0,
        response_format: 'b64_json',
        unheard_of: {},
      },
      {},
    ],
  ])('%s', (_name, fields, expected) => {
    expect(readImageRequest({ prompt: 'a fox', ...fields })).toEqual({ ok: true, value: { ...PLAIN, ...expected } })
  })

  it.each([
    ['prompt', { prompt: undefined }],
    ['prompt', { prompt: null }],
    ['prompt', { prompt: '  ' }],
    ['prompt', { prompt: ['a'] }],
    ['prompt', { prompt: 'x'.repeat(32_001) }],
    ['negative_prompt', { negative_prompt: 1 }],
    ['n', { n: 0 }],
    ['n', { n: 11 }],
    ['n', { n: 1.5 }],
    ['n', { n: '2' }],
    ['size', { size: '1024' }],
    ['size', { size: '1024X1024' }],
    ['size', { size: 1024 }],
    ['size', { size: '1020x1024' }],
    ['steps', { steps: 0 }],
    ['steps', { steps: 201 }],
    ['seed', { seed: -1 }],
    ['seed', { seed: 2 ** 53 }],
    ['response_format', { response_format: 'url' }],
    ['output_format', { output_format: 'webp' }],
    ['background', { background: 'transparent' }],
    ['stream', { stream: true }],
    ['partial_images', { partial_images: 2 }],
  ])('%s is wrong in %j', (param, fields) => {
    expect(readImageRequest({ prompt: 'a fox', ...fields })).toMatchObject({ ok: false, error: { param } })
  })

  it('url is refused naming what there is', () => {
    const read = readImageRequest({ prompt: 'a', response_format: 'url' })
    expect(read).toMatchObject({ error: { message: expect.stringContaining('"b64_json"') as string } })
  })

  it('never throws, and what it lets through is in range', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (prompt, n, size) => {
        const read = readImageRequest({ prompt, n, size })
        if (read.ok) expect(read.value.count).toBeGreaterThanOrEqual(1)
      }),
    )
    fc.assert(fc.property(fc.jsonValue(), (body) => void readImageRequest(body)))
  })
})

it.each([
  ['64x2048', { width: 64, height: 2048 }],
  ['56x64', undefined],
  ['2056x64', undefined],
  ['65x64', undefined],
  ['064x64', { width: 64, height: 64 }],
  ['', undefined],
  ['64x64x64', undefined],
])('parseImageSize %s', (text, expected) => expect(parseImageSize(text)).toEqual(expected))

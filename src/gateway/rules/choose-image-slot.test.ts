import { describe, expect, it } from 'vitest'
import { BASE_ROW } from '../../../test/support/base-row.ts'
import { chooseImageSlot } from './choose-image-slot.ts'

const base = { ...BASE_ROW, lastUsedMs: 0 }
const llm = { ...base, name: 'agent' }
const img = { ...base, name: 'img', type: 'image', model_id: 'xl' } as const
const bare = { ...img, model_id: null }
const art = { ...img, name: 'art', aliases: ['brush'], model_id: 'flux' }

const choose = (model: string | undefined, ...rows: readonly (typeof base)[]) =>
  chooseImageSlot({ model, rows, unknownModel: 'agent', registered: new Set(['xl', 'spare']), onDemandSlot: 'scratch' })

describe('chooseImageSlot', () => {
  it.each([
    ['no name', undefined, [llm, img], { kind: 'slot', slot: 'img', fallback: false }],
    ['its name', 'art', [llm, img, art], { kind: 'slot', slot: 'art', fallback: false }],
    ['an alias', 'brush', [img, art], { kind: 'slot', slot: 'art' }],
    ['its model', 'flux', [img, art], { kind: 'slot', slot: 'art', fallback: false }],
    ['a name of another service', 'dall-e-3', [llm, img], { kind: 'slot', slot: 'img', fallback: true }],
    ['the default of its type', undefined, [img, { ...art, default: true }], { kind: 'slot', slot: 'art' }],
    ['one without a model', undefined, [llm, bare], { kind: 'slot', slot: 'img', fallback: false }],
    ['one without a model, and a foreign name', 'dall-e-3', [llm, bare], { kind: 'slot', slot: 'img', fallback: true }],
    ['one with a model before one without', undefined, [bare, art], { kind: 'slot', slot: 'art' }],
    ['a registered model that no slot binds', 'spare', [img], { kind: 'error', code: 'model_not_found' }],
    ['a slot that chats', 'agent', [llm, img], { kind: 'wrong_type', named: { name: 'agent' } }],
    ['none', undefined, [llm], { kind: 'no_image_slot' }],
    ['none, and a foreign name', 'dall-e-3', [llm], { kind: 'no_image_slot' }],
    ['none, and a slot that chats', 'agent', [llm], { kind: 'wrong_type' }],
    ['nothing at all', undefined, [], { kind: 'no_image_slot' }],
  ])('%s', (_name, model, rows, expected) => expect(choose(model, ...rows)).toMatchObject(expected))
})

import { describe, expect, it } from 'vitest'
import { findSlotClashes } from '../slots/rules/slot-clashes.ts'
import { outlineOf, placeOf } from '../slots/rules/slot-outline.ts'
import { findGpuClashes } from './lane-clashes.ts'
import { findNameClashes, SEED_SLOT_NAMES } from './names.ts'

const slot = (name: string, ...aliases: string[]) => ({ name, aliases, file: `slots/${name}.toml` })
const none = { slots: [], lanes: [], models: [] }

describe('findNameClashes', () => {
  it.each([
    [
      'two slots share an alias',
      { ...none, slots: [slot('a', 'x'), slot('b', 'x')] },
      'x',
      'alias of slot "a"',
      'alias of slot "b"',
    ],
    [
      'an alias is the name of another slot',
      { ...none, slots: [slot('a', 'b'), slot('b')] },
      'b',
      'slot "b"',
      'alias of slot "a"',
    ],
    ['a lane has the name of a slot', { ...none, slots: [slot('a')], lanes: ['a'] }, 'a', 'slot "a"', 'lane "a"'],
    ['a model has the name of a slot', { ...none, slots: [slot('a')], models: ['a'] }, 'a', 'slot "a"', 'model "a"'],
    [
      'a model has the alias of a slot',
      { ...none, slots: [slot('a', 'm')], models: ['m'] },
      'm',
      'alias of slot "a"',
      'model "m"',
    ],
    ['a lane has the name of a model', { ...none, lanes: ['m'], models: ['m'] }, 'm', 'lane "m"', 'model "m"'],
    [
      'a slot takes the built-in alias',
      { ...none, slots: [slot('embed-rerank')] },
      'embed-rerank',
      'built-in alias of slot "rerank"',
      'slot "embed-rerank"',
    ],
    [
      'a slot writes the built-in alias',
      { ...none, slots: [slot('a', 'embed-rerank')] },
      'embed-rerank',
      'built-in alias',
      'alias of slot "a"',
    ],
    [
      'an alias is the name of a seed',
      { ...none, slots: [slot('a', 'agent')] },
      'agent',
      'seed slot "agent"',
      'alias of slot "a"',
    ],
    ['a model has the name of a seed', { ...none, models: ['tts'] }, 'tts', 'seed slot "tts"', 'model "tts"'],
    ['a lane has the name of a seed', { ...none, lanes: ['img'] }, 'img', 'seed slot "img"', 'lane "img"'],
    [
      'a model hides behind hal0/',
      { ...none, models: ['hal0/x'] },
      'hal0/x',
      'names of slots below hal0/',
      'model "hal0/x"',
    ],
  ])('%s', (_name, owners, name, first, second) => {
    const clashes = findNameClashes(owners)
    expect(clashes.map((clash) => clash.name)).toEqual([name])
    expect(clashes[0]?.owners).toEqual([expect.stringContaining(first), expect.stringContaining(second)])
    expect(clashes[0]?.message).toContain(first)
    expect(clashes[0]?.message).toContain(second)
  })

  it.each([
    [
      'a new slot has the name of a model',
      { ...none, slots: [{ ...slot('big'), isNew: true }], models: ['big'] },
      'the name "big" belongs to model "big" (models.toml) already: choose another for the new slot "big"',
    ],
    [
      'an alias of a new slot is the name of a slot',
      { ...none, slots: [slot('a'), { ...slot('b', 'a'), isNew: true }] },
      'the name "a" belongs to slot "a" (slots/a.toml) already: choose another for an alias of the new slot "b"',
    ],
    [
      'a new model has the name of a slot',
      { ...none, slots: [slot('a')], newModel: 'a' },
      'the name "a" belongs to slot "a" (slots/a.toml) already: choose another for the new model "a"',
    ],
  ])('names no file that is not there yet: %s', (_name, owners, message) => {
    expect(findNameClashes(owners).map((clash) => clash.message)).toEqual([message])
  })

  it('lets a slot have the name of a seed: it is that slot', () => {
    expect(findNameClashes({ ...none, slots: SEED_SLOT_NAMES.map((name) => slot(name)) })).toEqual([])
  })

  it('finds nothing where names differ, case included', () => {
    expect(findNameClashes({ slots: [slot('a', 'b')], lanes: ['c'], models: ['A', 'org/b'] })).toEqual([])
  })
})

describe('findSlotClashes', () => {
  const place = (name: string, data: Record<string, unknown>) => placeOf(outlineOf(name, `slots/${name}.toml`, data))
  it.each([
    ['the same port', { port: 8090 }, { port: 8090 }, 'port'],
    ['two defaults of a type', { default: true, type: 'tts' }, { default: true, type: 'tts' }, 'default'],
    [
      'two LLMs on the NPU',
      { device: 'npu', model: { default: 'm' } },
      { device: 'npu', model: { default: 'n' } },
      'device',
    ],
  ])('%s', (_name, one, other, key) => {
    const clashes = findSlotClashes([place('a', one), place('b', other)])
    expect(clashes.map((clash) => clash.key)).toEqual([key])
    expect(clashes[0]?.message).toMatch(/slot "a".*slot "b"/)
  })
  it('names no file that is not there yet', () => {
    const made = placeOf({ ...outlineOf('b', 'slots/b.toml', { port: 1 }), isNew: true })
    const [clash] = findSlotClashes([place('a', { port: 1 }), made])
    expect(clash?.message).toContain('by slot "a" (slots/a.toml) and by the new slot "b":')
  })
  it.each([
    ['no port', {}, {}],
    ['defaults of two types', { default: true, type: 'tts' }, { default: true }],
    ['an NPU slot without a model', { device: 'npu', model: { default: 'm' } }, { device: 'npu' }],
    [
      'the trio',
      { device: 'npu', model: { default: 'm' } },
      { device: 'npu', type: 'embedding', model: { default: 'm' } },
    ],
  ])('%s is no clash', (_name, one, other) => {
    expect(findSlotClashes([place('a', one), place('b', other)])).toEqual([])
  })
})

// CASES 39.
describe('findGpuClashes', () => {
  const lane = (name: string, ...gpus: number[]) => ({ name, file: `lanes/${name}.toml`, gpus })
  const pin = (gpu_index: number) => outlineOf('s', 'slots/s.toml', { gpu_index })
  it('names both lanes, and lane and slot', () => {
    const messages = findGpuClashes([lane('a', 0, 1), lane('b', 1)], [pin(0)]).map(({ message }) => message)
    expect(messages).toEqual([
      expect.stringMatching(/^GPU 1 .*lane "a".*lane "b"/),
      expect.stringMatching(/^GPU 0 .*lane "a".*slot "s"/),
    ])
  })
  it('leaves what is apart alone', () => {
    expect(findGpuClashes([lane('a', 0), lane('b', 1)], [pin(2)])).toEqual([])
  })
})

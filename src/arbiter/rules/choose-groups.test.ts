import { expect, it } from 'vitest'
import { type ArbiterSetting, chooseGroups, type GroupRow } from './choose-groups.ts'

const slot = (name: string, more: Partial<GroupRow> = {}): GroupRow => ({
  name,
  type: 'llm',
  runner: 'llama-server',
  device: 'gpu-rocm',
  gpu_index: null,
  managed_by: null,
  default: false,
  ...more,
})
const image = (name: string, more: Partial<GroupRow> = {}) => slot(name, { type: 'image', runner: 'comfyui', ...more })

it.each<[string, ArbiterSetting, readonly GroupRow[], string, string | undefined]>([
  ['one card for all', 'auto', [slot('a'), image('i')], 'a | i', undefined],
  ['every type but image is llm', 'auto', [slot('t', { type: 'tts' }), image('i')], 't | i', undefined],
  ['a ComfyUI of another type is img', 'auto', [slot('a'), slot('c', { runner: 'comfyui' })], 'a | c', undefined],
  ['the same index', 'auto', [slot('a', { gpu_index: 1 }), image('i', { gpu_index: 1 })], 'a | i', undefined],
  ['other indexes', 'auto', [slot('a', { gpu_index: 0 }), image('i', { gpu_index: 1 })], ' | ', 'nothing_shared'],
  ['one without an index', 'auto', [slot('a', { gpu_index: 0 }), image('i')], 'a | i', undefined],
  ['vulkan and rocm', 'auto', [slot('a', { device: 'gpu-vulkan' }), image('i')], 'a | i', undefined],
  ['cuda and rocm', 'auto', [slot('a', { device: 'gpu-cuda' }), image('i')], ' | ', 'nothing_shared'],
  [
    'only those that share',
    'auto',
    [
      slot('a', { gpu_index: 0 }),
      slot('b', { gpu_index: 1 }),
      image('i', { gpu_index: 1 }),
      image('j', { gpu_index: 2 }),
    ],
    'b | i',
    undefined,
  ],
  ['on: whatever the index', 'on', [slot('a', { gpu_index: 0 }), image('i', { gpu_index: 1 })], 'a | i', undefined],
  ['off', 'off', [slot('a'), image('i')], ' | ', 'setting'],
  ['no image slot', 'auto', [slot('a'), slot('b')], ' | ', 'no_image_slot'],
  ['an image slot on the CPU', 'on', [slot('a'), image('i', { device: 'cpu' })], ' | ', 'no_image_slot'],
  ['only images', 'auto', [image('i'), image('j')], ' | ', 'nothing_shared'],
  [
    'no lane, CPU or NPU',
    'on',
    [
      slot('l', { managed_by: 'lane' }),
      slot('c', { device: 'cpu' }),
      slot('n', { device: 'npu' }),
      slot('a'),
      image('i'),
    ],
    'a | i',
    undefined,
  ],
  ['a slot that is saved stays in', 'auto', [slot('a', { managed_by: 'arbiter' }), image('i')], 'a | i', undefined],
])('%s', (_, setting, rows, expected, offBecause) => {
  const groups = chooseGroups(rows, setting)
  expect(`${groups.llm.join(' ')} | ${groups.img.join(' ')}`).toBe(expected)
  expect(groups.offBecause).toBe(offBecause)
})

it('a person switches to the default image slot, else the first', () => {
  expect(chooseGroups([slot('a'), image('i'), image('j')], 'auto').imageSlot).toBe('i')
  expect(chooseGroups([slot('a'), image('i'), image('j', { default: true })], 'auto').imageSlot).toBe('j')
  expect(chooseGroups([slot('a')], 'auto').imageSlot).toBeUndefined()
})

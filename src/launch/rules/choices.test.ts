import { describe, expect, it } from 'vitest'
import { ALL_ABILITIES, NO_ABILITIES } from '../../../test/support/launch-request.ts'
import type { ContextChoice, Device } from '../../contract/slot-row.ts'
import { type ContextWishes, chooseContext } from './choose-context.ts'
import { chooseSpeculation, type SpeculationWishes } from './choose-speculation.ts'
import { chooseThinking, type ThinkingWishes } from './choose-thinking.ts'
import { gpuEnvironment } from './gpu-environment.ts'
import type { ThinkingChoice } from './launch-request.ts'

describe('chooseContext', () => {
  it.each<[string, ContextWishes, ContextChoice]>([
    ['slot', { slotCtxTokens: 512, profileCtxTokens: 1024, nativeCtxTokens: 2048 }, { ctxTokens: 512, source: 'slot' }],
    ['profile', { profileCtxTokens: 65536, nativeCtxTokens: 2048 }, { ctxTokens: 65536, source: 'profile' }],
    ['native', { nativeCtxTokens: 2048 }, { ctxTokens: 2048, source: 'native' }],
    ['at the cap', { nativeCtxTokens: 32768 }, { ctxTokens: 32768, source: 'native' }],
    ['over the cap', { nativeCtxTokens: 32769 }, { ctxTokens: 32768, source: 'native' }],
    ['unknown', { nativeCtxTokens: null }, { ctxTokens: 8192, source: 'fallback' }],
    ['native does not count', { nativeCtxTokens: 32768, isNativeUsed: false }, { ctxTokens: 8192, source: 'fallback' }],
  ])('%s', (_name, wishes, expected) => {
    expect(chooseContext(wishes)).toEqual(expected)
  })
})

describe('chooseSpeculation', () => {
  const model = { drafter: null, mtp: null, tags: [] }
  const all: SpeculationWishes = { model, abilities: ALL_ABILITIES, runner: 'standard', isPooled: false }
  const none = { ...all, abilities: NO_ABILITIES }
  const both = { ...model, drafter: '/d', mtp: true }
  it.each<[string, SpeculationWishes, string, string]>([
    ['a drafter before heads', { ...all, model: both }, 'drafter', 'the model has a drafter'],
    [
      'heads where the engine takes no drafter',
      { ...all, model: both, abilities: { ...ALL_ABILITIES, drafter: false } },
      'mtp',
      'runner standard takes no drafter; the model has prediction heads (mtp of its row)',
    ],
    [
      'heads by the row',
      { ...all, model: { ...model, mtp: true } },
      'mtp',
      'the model has no drafter; the model has prediction heads (mtp of its row)',
    ],
    [
      'heads by the tag',
      { ...all, model: { ...model, tags: ['x', 'mtp'] } },
      'mtp',
      'the model has no drafter; the model has prediction heads (tag mtp)',
    ],
    [
      'the row against the tag',
      { ...all, model: { ...model, mtp: false, tags: ['mtp'] } },
      'off',
      'mtp.auto_off_model_ineligible: the model has no drafter and no prediction heads',
    ],
    ['nothing', all, 'off', 'mtp.auto_off_model_ineligible: the model has no drafter and no prediction heads'],
    [
      'no model',
      { ...all, model: undefined },
      'off',
      'mtp.auto_off_model_ineligible: the model has no drafter and no prediction heads',
    ],
    [
      'an engine that can nothing',
      { ...none, model: both },
      'off',
      'mtp.auto_off_model_ineligible: runner standard takes no drafter, and it cannot use prediction heads',
    ],
    [
      'heads that the engine cannot use',
      { ...none, model: { ...model, mtp: true } },
      'off',
      'mtp.auto_off_model_ineligible: the model has no drafter, and runner standard cannot use prediction heads',
    ],
    ['off by the profile', { ...all, model: both, profile: 'off' }, 'off', 'the profile says off'],
    ['off by the slot', { ...all, model: both, profile: 'ngram', slot: 'off' }, 'off', '[tune] of the slot says off'],
    ['n-grams', { ...all, model: both, slot: 'ngram' }, 'ngram', '[tune] of the slot says ngram'],
    [
      'n-grams that the engine cannot',
      { ...none, profile: 'ngram' },
      'off',
      'the profile says ngram, which runner standard cannot do',
    ],
    [
      'pooled',
      { ...all, model: both, isPooled: true, flag: { flag: '--spec-type', values: ['draft-mtp'] } },
      'off',
      'an engine that embeds or reranks does not speculate',
    ],
    [
      'a flag',
      { ...all, slot: 'off', flag: { flag: '--spec-type', values: ['draft-mtp'] } },
      'mtp',
      "the profile's flags say --spec-type draft-mtp",
    ],
    [
      'a flag for n-grams',
      { ...all, flag: { flag: '--spec-type', values: ['ngram-map-k4v'] } },
      'ngram',
      "the profile's flags say --spec-type ngram-map-k4v",
    ],
    [
      'a flag for a drafter',
      { ...all, flag: { flag: '--spec-type', values: ['ngram-mod,draft-eagle3'] } },
      'drafter',
      "the profile's flags say --spec-type ngram-mod,draft-eagle3",
    ],
    [
      'a flag for nothing',
      { ...all, model: both, flag: { flag: '--spec-type', values: ['none'] } },
      'off',
      "the profile's flags say --spec-type none",
    ],
  ])('%s', (_name, wishes, mode, detail) => {
    expect(chooseSpeculation(wishes)).toEqual({ mode, detail })
  })
})

describe('chooseThinking', () => {
  it.each<[string, Partial<ThinkingWishes>, ThinkingChoice]>([
    ['nobody', {}, { enabled: undefined, source: 'template', pinnedBy: undefined }],
    ['profile', { profile: false }, { enabled: false, source: 'profile', pinnedBy: undefined }],
    ['slot before profile', { slot: true, profile: false }, { enabled: true, source: 'slot', pinnedBy: undefined }],
    [
      'pinned off',
      { slot: true, profile: true, reasoning: 'off' },
      { enabled: false, source: 'flags', pinnedBy: '--reasoning off' },
    ],
    ['pinned on', { slot: false, reasoning: 'on' }, { enabled: true, source: 'flags', pinnedBy: '--reasoning on' }],
    ['auto pins nothing', { slot: false, reasoning: 'auto' }, { enabled: false, source: 'slot', pinnedBy: undefined }],
    [
      'pooled',
      { slot: true, reasoning: 'on', isPooled: true },
      { enabled: undefined, source: 'template', pinnedBy: undefined },
    ],
  ])('%s', (_name, wishes, expected) => {
    expect(chooseThinking({ isPooled: false, ...wishes })).toEqual(expected)
  })
})

describe('gpuEnvironment', () => {
  it.each<[Device, number[] | undefined, Record<string, string>]>([
    ['gpu-rocm', [3], { ROCR_VISIBLE_DEVICES: '3', HIP_VISIBLE_DEVICES: '0' }],
    ['gpu-rocm', [0], { ROCR_VISIBLE_DEVICES: '0', HIP_VISIBLE_DEVICES: '0' }],
    ['gpu-rocm', undefined, {}],
    ['gpu-rocm', [1, 3], { ROCR_VISIBLE_DEVICES: '1,3', HIP_VISIBLE_DEVICES: '0,1' }],
    ['gpu-vulkan', [1], { GGML_VK_VISIBLE_DEVICES: '1' }],
    ['gpu-vulkan', [0, 1], { GGML_VK_VISIBLE_DEVICES: '0,1' }],
    ['gpu-cuda', [2], { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: '2' }],
    ['gpu-cuda', [2, 5], { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: '2,5' }],
    ['cpu', [1], {}],
    ['npu', [0], {}],
  ])('%s %s', (device, gpus, expected) => {
    expect(gpuEnvironment({ device, gpus })).toEqual(expected)
  })
})

import { describe, expect, it } from 'vitest'
import { isPinned } from '../../slots/rules/is-pinned.ts'
import { fitsSlot } from './fits-slot.ts'

describe('fitsSlot', () => {
  it.each([
    ['a plain profile, an llm slot', [], undefined, 'llm', undefined, true],
    ['a pooled profile, an llm slot', ['--embedding'], undefined, 'llm', undefined, false],
    ['a pooled profile, its slot', ['-b', '8192', '--rerank'], undefined, 'reranking', undefined, true],
    ['the other pooled profile', ['--rerank'], undefined, 'embedding', undefined, false],
    ['a plain profile, a pooled slot', ['-b', '8192'], undefined, 'embedding', undefined, false],
    ['a runner where the slot names none', [], 'vllm', 'llm', undefined, true],
    ['the same runner', [], 'vllm', 'llm', 'vllm', true],
    ['another runner', [], 'vllm', 'llm', 'cpu', false],
  ] as const)('%s', (_name, flags, runner, type, binary, expected) => {
    expect(fitsSlot({ flags, body: { runner } }, { type, binary })).toBe(expected)
  })
})

describe('isPinned', () => {
  it.each([
    ['an anchor', { name: 'agent', device: 'cpu', type: 'llm' }, true],
    ['an anchor that was set free', { name: 'agent', device: 'cpu', type: 'llm', pinned: false }, false],
    ['the LLM of the NPU', { name: 'x', device: 'npu', type: 'llm' }, true],
    ['any other', { name: 'x', device: 'cpu', type: 'llm' }, false],
    ['one that says so', { name: 'x', device: 'cpu', type: 'llm', pinned: true }, true],
  ])('%s', (_name, config, expected) => {
    expect(isPinned(config)).toBe(expected)
  })
})

import { expect, it } from 'vitest'
import { findNpuClash, type NpuCandidate } from './npu-clash.ts'

const npu = (name: string, change: Partial<NpuCandidate> = {}): NpuCandidate => ({
  name,
  type: 'llm',
  device: 'npu',
  state: 'offline',
  model_id: 'llama3.2:1b',
  file_model_id: 'llama3.2:1b',
  ...change,
})
const EMPTY = { model_id: null, file_model_id: null } as const

it.each<[string, readonly NpuCandidate[], string | undefined]>([
  ['nobody else', [npu('b')], undefined],
  ['a seed without a model does not count', [npu('a', EMPTY), npu('b')], undefined],
  ['another that binds one, earlier by name', [npu('a'), npu('b')], 'a'],
  ['another that binds one, later by name: that is the second', [npu('b'), npu('c')], undefined],
  ['one that is up has it, whatever its name', [npu('b'), npu('c', { state: 'serving' })], 'c'],
  ['one that is up without a binding of its own', [npu('b'), npu('c', { state: 'ready', file_model_id: null })], 'c'],
  ['one that starts', [npu('b'), npu('c', { state: 'starting' })], 'c'],
  ['one that failed has it no more', [npu('b'), npu('c', { state: 'error' })], undefined],
  ['a swap into b beside a binding that comes later', [npu('b', EMPTY), npu('c')], 'c'],
  ['a slot that is being made', [npu('c')], 'c'],
  ['b is up itself', [npu('a'), npu('b', { state: 'ready' })], undefined],
  ['a shadow is no LLM', [npu('a', { type: 'embedding', state: 'ready' }), npu('b')], undefined],
  ['another device', [npu('a', { device: 'cpu', state: 'ready' }), npu('b')], undefined],
  ['b is not on the NPU', [npu('a', { state: 'ready' }), npu('b', { device: 'cpu' })], undefined],
])('%s', (_name, slots, holder) => {
  expect(findNpuClash(slots, 'b')?.holder).toBe(holder)
})

it('names both', () => {
  expect(findNpuClash([npu('a'), npu('b')], 'b')?.message).toMatch(/slot a \(model llama3\.2:1b\).*slot b/)
})

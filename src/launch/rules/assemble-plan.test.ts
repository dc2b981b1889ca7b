import { describe, expect, it } from 'vitest'
import { argvOf } from '../../contract/launch-plan.ts'
import { assemblePlan, type LaunchInput } from './assemble-plan.ts'
import { chooseContext } from './choose-context.ts'

const input: LaunchInput = {
  slot: 'agent',
  command: ['/usr/bin/llama-server'],
  port: 8081,
  modelPath: '/models/a b "c".gguf',
  ctxTokens: 4096,
  nGpuLayers: -1,
  threads: 0,
  keyEnv: 'LLAMA_API_KEY',
  env: { FOO: 'bar' },
}
const BASE = '--host 127.0.0.1 --port 8081'.split(' ')
const FILE = ['--model', '/models/a b "c".gguf', '--alias', 'agent', '--ctx-size', '4096']

describe('assemblePlan', () => {
  it.each([
    ['defaults leave layers and threads to the engine', {}, [...BASE, ...FILE, '--metrics']],
    ['layers 0 is a choice, not the default', { nGpuLayers: 0 }, [...BASE, ...FILE, '-ngl', '0', '--metrics']],
    ['threads', { threads: 6 }, [...BASE, ...FILE, '--threads', '6', '--metrics']],
    [
      'all layers and threads',
      { nGpuLayers: 99, threads: 2 },
      [...BASE, ...FILE, '-ngl', '99', '--threads', '2', '--metrics'],
    ],
  ])('%s', (_name, change, flags) => {
    expect(argvOf(assemblePlan({ ...input, ...change }))).toEqual(['/usr/bin/llama-server', ...flags])
  })

  it('keeps what stands before the flags, and says which layer each flag is from', () => {
    const plan = assemblePlan({ ...input, command: ['/usr/bin/node', '/x/server.js'], threads: 1 })
    expect(argvOf(plan).slice(0, 3)).toEqual(['/usr/bin/node', '/x/server.js', '--host'])
    expect(plan.flags.filter((f) => f.layer === 'slot').map((f) => f.flag)).toEqual(['--threads', '--metrics'])
    expect(plan.keyEnv).toBe('LLAMA_API_KEY')
    expect(plan.env).toEqual({ FOO: 'bar' })
  })
})

describe('chooseContext', () => {
  it.each([
    ['native', 2048, { ctxTokens: 2048, source: 'native' }],
    ['at the cap', 32768, { ctxTokens: 32768, source: 'native' }],
    ['over the cap', 32769, { ctxTokens: 32768, source: 'native' }],
    ['unknown', null, { ctxTokens: 8192, source: 'fallback' }],
  ] as const)('%s', (_name, native, expected) => {
    expect(chooseContext(native)).toEqual(expected)
  })
})

import { describe, expect, it } from 'vitest'
import { launchRequest, type RequestChange, showLayers, showRemoved } from '../../../test/support/launch-request.ts'
import { argvOf } from '../../contract/launch-plan.ts'
import { assembleLaunch } from './assemble-launch.ts'
import { comparePlans } from './compare-plans.ts'
import { findDrift } from './find-drift.ts'
import { modelOfTag } from './flm-layers.ts'
import { screenFlags } from './screen-flags.ts'

const ENGINE = { key: 'flm', dialect: 'flm', command: ['/usr/bin/flm', 'serve'], keyEnv: undefined } as const
const MODEL = modelOfTag('llama3.2:1b')

function assemble(change: RequestChange = {}) {
  const launch = assembleLaunch(launchRequest({ device: 'npu', model: MODEL, engine: ENGINE, ...change }))
  if (!launch.ok) throw launch.error
  return launch.value
}

const BASE = 'base: llama3.2:1b --host 127.0.0.1 --port 8081 --ctx-len 8192'

describe('flm serve', () => {
  it.each<[string, RequestChange, string]>([
    ['nothing special', {}, BASE],
    ['what only llama.cpp has', { nGpuLayers: 9, threads: 3 }, BASE],
    ['a window of the profile', { profile: { ctxTokens: 16_384 } }, BASE.replace('8192', '16384')],
    ['speech to text', { npu: { asr: true, embed: false } }, `${BASE} | slot: --asr 1`],
    ['both', { npu: { asr: true, embed: true } }, `${BASE} | slot: --asr 1 --embed 1`],
    ['neither', { npu: { asr: false, embed: false } }, BASE],
    [
      'the flags of the profile',
      { profile: { flags: ['--pmode', 'turbo', '-q', '20', '--quiet'] } },
      `${BASE} | profile: --pmode turbo -q 20 --quiet`,
    ],
  ])('%s', (_name, change, expected) => {
    expect(showLayers(assemble(change))).toBe(expected)
  })

  it('gives the tag as the positional argument', () => {
    expect(argvOf(assemble().plan).slice(0, 4)).toEqual(['/usr/bin/flm', 'serve', 'llama3.2:1b', '--host'])
  })

  it('leaves out what a profile may not set, in every spelling', () => {
    const flags = [
      '-p',
      '9',
      '--port=9',
      '--po',
      '9',
      '-c',
      '512',
      '--asr',
      '1',
      '-e',
      '1',
      '--model_tag',
      'x',
      '-p9000',
    ]
    const launch = assemble({ profile: { flags } })
    expect(showLayers(launch)).toBe(BASE)
    expect(showRemoved(launch)).toHaveLength(8)
  })

  it('is told in the words of the slot', () => {
    const before = assemble().plan
    const after = assemble({ npu: { asr: true, embed: true }, profile: { ctxTokens: 4096 } }).plan
    expect(comparePlans({ plan: before }, { plan: after })).toEqual(['ctx_size', 'npu.asr', 'npu.embed'])
    expect(findDrift(argvOf(before), after)).toEqual(['ctx_size'])
    expect(findDrift(argvOf(before), assemble({ model: modelOfTag('qwen3:0.6b') }).plan)).toEqual(['model'])
  })
})

describe('a template of FastFlowLM', () => {
  it('is followed by the switches of [npu]', () => {
    const template = ['run', '${MODEL}', '-p', '${PORT}', '-c', '${CTX}']
    const engine = { ...ENGINE, dialect: 'template', command: ['/usr/bin/npu'], template } as const
    const { plan } = assemble({ engine, npu: { asr: true, embed: true }, profile: { flags: ['--pmode', 'turbo'] } })
    expect(argvOf(plan)).toEqual(
      '/usr/bin/npu run llama3.2:1b -p 8081 -c 8192 --pmode turbo --asr 1 --embed 1'.split(' '),
    )
  })
})

describe('what a profile of a server may not set', () => {
  it.each([['--host', 'x'], ['--port=1'], ['--listen', '0.0.0.0'], ['--uds', '/s'], ['--model', 'x']])(
    '%s',
    (...words) => {
      expect(screenFlags(words, 'template').map(({ owner }) => owner)).toEqual(['hal0'])
    },
  )

  it('but its own flags', () => {
    expect(screenFlags(['--lowvram', '--output-directory', '/out', '--workers', '1'], 'template')).toEqual([])
  })
})

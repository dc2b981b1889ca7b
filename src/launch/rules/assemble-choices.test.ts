import { describe, expect, it } from 'vitest'
import {
  ALL_ABILITIES,
  engineHelp,
  launchRequest,
  NO_ABILITIES,
  type RequestChange,
  showLayers,
} from '../../../test/support/launch-request.ts'
import { assembleLaunch } from './assemble-launch.ts'

const BASE = 'base: --host 127.0.0.1 --port 8081 --model /m/a.gguf --alias agent --ctx-size 4096 | model: --jinja'
const PLAIN = `${BASE} | slot: --metrics`
const bundle = (words: string, device = 'none') =>
  `${BASE} | profile: ${words} | slot: --metrics --spec-draft-device ${device}`

function assemble(change: RequestChange) {
  const launch = assembleLaunch(launchRequest(change))
  if (!launch.ok) throw launch.error
  return launch.value
}

const NO_DRAFTER = { abilities: { ...ALL_ABILITIES, drafter: false } }
const NO_HEADS = { abilities: { ...ALL_ABILITIES, mtp: false } }
const JINJA_ONLY = { abilities: { ...NO_ABILITIES, jinja: true } }

/** A build that lists these ways of speculating. */
function specHelp(...choices: readonly string[]) {
  const flags = ['--host 1', '--port 1', '--model 1', '--alias 1', '--ctx-size 1', '--jinja 0', '--metrics 0']
  const { flags: known } = engineHelp(...flags, '--spec-draft-model -md --model-draft 1', '--spec-draft-device 1')
  return { help: { flags: new Map([...known, ['--spec-type', { names: ['--spec-type'], values: 1, choices }]]) } }
}

/** A build of 2024, which speculates with whatever draft model it is given. */
const OLD = {
  help: engineHelp(
    ...['--host 1', '--port 1', '--model 1', '--alias 1', '--ctx-size 1', '--jinja 0', '--metrics 0'],
    ...['--model-draft -md 1', '--device-draft -devd 1'],
  ),
}

describe('speculation in the command, by SPEC 9', () => {
  it.each<[string, RequestChange, string, string]>([
    // auto: the drafter, else the heads, else plain.
    [
      'the drafter comes before the heads',
      { model: { drafter: '/d', mtp: true } },
      bundle('--spec-type draft-simple --spec-draft-model /d'),
      'drafter',
    ],
    [
      'the heads, where the runner takes no drafter',
      { model: { drafter: '/d', mtp: true }, engine: NO_DRAFTER },
      bundle('--spec-type draft-mtp'),
      'mtp',
    ],
    [
      'the fact says no, whatever the tag says',
      { model: { mtp: false, tags: ['mtp'] } },
      PLAIN,
      'off mtp.auto_off_model_ineligible',
    ],
    ['the fact says yes without a tag', { model: { mtp: true, tags: [] } }, bundle('--spec-type draft-mtp'), 'mtp'],
    [
      'never by the name of the file',
      { model: { path: '/m/a.gguf', id: 'org/big-mtp.q8' } },
      PLAIN,
      'off mtp.auto_off_model_ineligible',
    ],
    [
      'heads that the runner cannot use',
      { model: { mtp: true }, engine: NO_HEADS },
      PLAIN,
      'off mtp.auto_off_model_ineligible',
    ],
    [
      'a drafter that the runner cannot use, and no heads',
      { model: { drafter: '/d' }, engine: NO_DRAFTER },
      PLAIN,
      'off mtp.auto_off_model_ineligible',
    ],
    ['a model without anything', {}, PLAIN, 'off mtp.auto_off_model_ineligible'],
    // ngram and off.
    [
      'n-grams rather than the drafter, when asked',
      { model: { drafter: '/d', mtp: true }, profile: { speculation: 'ngram' } },
      `${BASE} | profile: --spec-type ngram-mod | slot: --metrics`,
      'ngram',
    ],
    ['n-grams that the runner cannot do', { tune: { speculation: 'ngram' }, engine: JINJA_ONLY }, PLAIN, 'off'],
    [
      '[tune] off, over the profile and the model',
      { model: { drafter: '/d', mtp: true }, profile: { speculation: 'ngram' }, tune: { speculation: 'off' } },
      PLAIN,
      'off',
    ],
    // What builds call it.
    [
      'n-grams of an older build',
      { tune: { speculation: 'ngram' }, engine: specHelp('none', 'ngram-cache', 'ngram-simple') },
      `${BASE} | profile: --spec-type ngram-simple | slot: --metrics`,
      'ngram',
    ],
    [
      'a drafter of a build that has no name for it',
      { model: { drafter: '/d' }, engine: specHelp('none', 'eagle3') },
      bundle('--spec-draft-model /d'),
      'drafter',
    ],
    [
      'a drafter of a build with the old names',
      { model: { drafter: '/d' }, engine: OLD },
      `${BASE} | profile: -md /d | slot: --metrics -devd none`,
      'drafter',
    ],
    // The device of the draft: the first that the process sees, even when the slot is pinned to another GPU.
    [
      'a pinned GPU is the first one of the process',
      { device: 'gpu-cuda', gpus: [1], model: { drafter: '/d' } },
      bundle('--spec-type draft-simple --spec-draft-model /d', 'CUDA0'),
      'drafter',
    ],
    [
      'an NPU has no draft device',
      { device: 'npu', model: { mtp: true } },
      `${BASE} | profile: --spec-type draft-mtp | slot: --metrics`,
      'mtp',
    ],
    // The profile's own flags.
    [
      "the profile's own draft settings in old names, over the bundle",
      { model: { drafter: '/d' }, profile: { flags: ['--draft-max', '8', '--draft', '4', '-md', '/other'] } },
      bundle('--spec-type draft-simple --spec-draft-model /d --draft 4'),
      'drafter',
    ],
    [
      '--spec-type none of the profile turns it off, over [tune]',
      { model: { drafter: '/d' }, tune: { speculation: 'auto' }, profile: { flags: ['--spec-type', 'none'] } },
      `${BASE} | profile: --spec-type none | slot: --metrics`,
      'off',
    ],
  ])('%s', (_name, change, command, outcome) => {
    const launch = assemble(change)
    expect(showLayers(launch)).toBe(command)
    const [mode = '', detail = ''] = outcome.split(' ')
    expect(launch.speculation.mode).toBe(mode)
    expect(launch.speculation.detail).toContain(detail)
  })
})

describe('the window in the command, by SPEC 9', () => {
  it.each<[string, RequestChange, number, string]>([
    ['[tune] over profile and native', { tune: { ctx_size: 512 }, profile: { ctxTokens: 1024 } }, 512, 'slot'],
    ['[tune] is not capped', { tune: { ctx_size: 262_144 } }, 262_144, 'slot'],
    ['the profile is not capped', { profile: { ctxTokens: 65_536 } }, 65_536, 'profile'],
    ['native, one below the cap', { model: { nativeCtxTokens: 32_767 } }, 32_767, 'native'],
    ['native, one above the cap', { model: { nativeCtxTokens: 32_769 } }, 32_768, 'native'],
    ['nobody says', { model: { nativeCtxTokens: null } }, 8192, 'fallback'],
    ['an engine with a model of its own', { model: 'none' }, 8192, 'fallback'],
    ['FLM: its model’s own window says nothing', { engine: { key: 'flm' } }, 8192, 'fallback'],
    ['FLM: a person may', { engine: { key: 'flm' }, tune: { ctx_size: 4096 } }, 4096, 'slot'],
    ['pooled engines alike', { type: 'embedding', profile: { ctxTokens: 4096 } }, 4096, 'profile'],
  ])('%s', (_name, change, ctxTokens, source) => {
    const launch = assemble(change)
    expect(launch.ctx).toEqual({ ctxTokens, source })
    const at = launch.plan.flags.findIndex(({ flag }) => flag === '--ctx-size')
    expect(launch.plan.flags[at]).toEqual({ flag: '--ctx-size', values: [String(ctxTokens)], layer: 'base' })
  })
})

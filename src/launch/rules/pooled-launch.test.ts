import { describe, expect, it } from 'vitest'
import { engineHelp, launchRequest, type RequestChange, showLayers } from '../../../test/support/launch-request.ts'
import type { EngineHelp } from '../../contract/runner.ts'
import { assembleLaunch } from './assemble-launch.ts'

const BASE = 'base: --host 127.0.0.1 --port 8081 --model /m/a.gguf --alias agent --ctx-size 4096'
const VLLM_BASE = 'base: /m/a.gguf --host 127.0.0.1 --port 8081 --served-model-name agent --max-model-len 4096'
const SGLANG_BASE =
  'base: --model-path /m/a.gguf --host 127.0.0.1 --port 8081 --served-model-name agent --context-length 4096'

const VLLM = { key: 'vllm', dialect: 'vllm', command: ['/usr/bin/vllm', 'serve'] } as const
const SGLANG = { key: 'sglang', dialect: 'sglang', command: ['/usr/bin/sglang', 'serve'] } as const
const VLLM_FLAGS = ['--host 1', '--port 1', '--served-model-name 1', '--max-model-len 1']

const flags = (...words: readonly string[]) => ({ profile: { flags: words } })

function show(change: RequestChange): string {
  const launch = assembleLaunch(launchRequest(change))
  if (!launch.ok) throw launch.error
  return showLayers(launch.value)
}

describe('llama-server', () => {
  it.each<[string, RequestChange, string]>([
    [
      'a profile that says nothing of the mode: the type of the slot does',
      { type: 'embedding' },
      `${BASE} | slot: --metrics --embedding`,
    ],
    ['the same of a reranker', { type: 'reranking' }, `${BASE} | slot: --metrics --reranking`],
    ['a chat slot has no mode', {}, `${BASE} | model: --jinja | slot: --metrics`],
    [
      'a language model that embeds: without pooling there is no vector',
      { type: 'embedding', model: { pooling: null }, ...flags('--embedding') },
      `${BASE} | model: --pooling last | profile: --embedding | slot: --metrics`,
    ],
    [
      'a file that says there is none, alike',
      { type: 'embedding', model: { pooling: 'none' }, ...flags('--embedding') },
      `${BASE} | model: --pooling last | profile: --embedding | slot: --metrics`,
    ],
    [
      'an embedding model pools as it was made to',
      { type: 'embedding', model: { pooling: 'mean' }, ...flags('--embedding') },
      `${BASE} | profile: --embedding | slot: --metrics`,
    ],
    [
      "a reranker's pooling is its mode",
      { type: 'reranking', model: { pooling: null }, ...flags('--reranking') },
      `${BASE} | profile: --reranking | slot: --metrics`,
    ],
    [
      "the profile's own pooling",
      { type: 'embedding', model: { pooling: null }, ...flags('--embedding', '--pooling', 'cls') },
      `${BASE} | profile: --embedding --pooling cls | slot: --metrics`,
    ],
    [
      'an engine that does not know the word pools by the last token anyway',
      {
        type: 'embedding',
        model: { pooling: null },
        engine: {
          help: engineHelp('--host 1', '--port 1', '--model 1', '--alias 1', '--ctx-size 1', '--embedding 0'),
        },
        ...flags('--embedding'),
      },
      `${BASE} | profile: --embedding`,
    ],
  ])('%s', (_name, change, expected) => expect(show(change)).toBe(expected))

  it('an engine that cannot rerank is refused, not started as another one', () => {
    const help = engineHelp('--host 1', '--port 1', '--model 1', '--alias 1', '--ctx-size 1')
    expect(() => show({ type: 'reranking', engine: { help } })).toThrow(/--reranking/)
  })
})

describe('vLLM and SGLang', () => {
  it.each<[string, RequestChange, string]>([
    [
      'vLLM by its runner',
      { type: 'embedding', engine: { ...VLLM, help: engineHelp(...VLLM_FLAGS, '--runner 1', '--task 1') } },
      `${VLLM_BASE} | model: --runner pooling`,
    ],
    [
      'a reranker alike',
      { type: 'reranking', engine: { ...VLLM, help: engineHelp(...VLLM_FLAGS, '--runner 1') } },
      `${VLLM_BASE} | model: --runner pooling`,
    ],
    [
      'an older vLLM by its task',
      { type: 'embedding', engine: { ...VLLM, help: older() } },
      `${VLLM_BASE} | model: --task embed`,
    ],
    [
      'an older vLLM that scores',
      { type: 'reranking', engine: { ...VLLM, help: older() } },
      `${VLLM_BASE} | model: --task score`,
    ],
    ['a vLLM whose help cannot be read decides by itself', { type: 'embedding', engine: VLLM }, VLLM_BASE],
    ['a vLLM that chats', { engine: { ...VLLM, help: engineHelp(...VLLM_FLAGS, '--runner 1') } }, VLLM_BASE],
    ['SGLang', { type: 'embedding', engine: SGLANG }, `${SGLANG_BASE} | slot: --is-embedding --enable-metrics`],
  ])('%s', (_name, change, expected) => expect(show(change)).toBe(expected))
})

/** Versions that had `--task` only. */
function older(): EngineHelp {
  const task = { names: ['--task'], values: 1, choices: ['auto', 'classify', 'embed', 'generate', 'score'] }
  return { flags: new Map([...engineHelp(...VLLM_FLAGS).flags, ['--task', task]]) }
}

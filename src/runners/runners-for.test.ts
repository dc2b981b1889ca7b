import { expect, it } from 'vitest'
import { createRunnerRegistry } from './build-registry.ts'
import type { Runner } from './runner.ts'
import { createRunnersFor } from './runners-for.ts'

const runnersFor = createRunnersFor(createRunnerRegistry({}))
const LLM = ['cpu', 'standard', 'cuda', 'vllm', 'sglang']

it.each([
  ['/v1/embeddings', ['embedded', ...LLM, 'flm']],
  ['/v1/rerank', LLM],
  ['/v1/audio/speech', ['kokoro', 'qwen3tts', 'vibevoice']],
  ['/v1/images/generations', ['comfyui']],
] as const)('%s', (route, keys) => {
  expect([...runnersFor(route)].toSorted()).toEqual([...keys].toSorted())
  expect(runnersFor(route)).toBe(runnersFor(route))
})

it('looks again when the settings brought other runners', () => {
  let all: readonly Runner[] = createRunnerRegistry({}).all()
  const of = createRunnersFor({ all: () => all })
  expect(of('/v1/audio/speech')).toContain('kokoro')
  all = all.filter(({ key }) => key !== 'kokoro')
  expect(of('/v1/audio/speech')).not.toContain('kokoro')
})

import { describe, expect, it } from 'vitest'
import { runnersSchema } from './runner-settings.ts'

describe('[runners.<key>] of a server', () => {
  const template = ['/x', '${PORT}']
  it.each([
    [{ kokoro: { template, health_path: '/h', models_path: '', stop_signal: 'SIGINT' } }],
    [{ flm: { health_path: '/api/version' } }],
    [{ comfyui: { binary: '/x', on_client_abort: 'drain' } }],
  ])('takes how it is started: %j', (runners) => {
    expect(runnersSchema.safeParse(runners).success).toBe(true)
  })

  it.each([
    [{ kokoro: { template: ['/x'] } }, 'expected ${PORT}'],
    [{ kokoro: { types: ['llm'] } }, 'types: hal0 knows this of kokoro'],
    [{ comfyui: { routes: ['/tokenize'], key_env: 'K' } }, 'key_env, routes: hal0 knows this of comfyui'],
    [{ flm: { models_path: 'v1' } }, 'begins with /, or ""'],
    [{ vllm: { template } }, 'a template needs a key of its own'],
    [{ vllm: { health_path: '/h' } }, 'health_path: hal0 knows this of vllm'],
  ])('refuses what is not: %j', (runners, message) => {
    expect(runnersSchema.safeParse(runners).error?.issues[0]?.message).toContain(message)
  })
})

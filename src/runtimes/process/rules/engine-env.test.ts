import { describe, expect, it } from 'vitest'
import { engineEnvironment, isInherited } from './engine-env.ts'

describe('isInherited', () => {
  it.each(['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER', 'XDG_RUNTIME_DIR', 'LD_LIBRARY_PATH'])(
    '%s is',
    (name) => expect(isInherited(name)).toBe(true),
  )
  it.each([
    'CUDA_VISIBLE_DEVICES',
    'HIP_VISIBLE_DEVICES',
    'ROCR_VISIBLE_DEVICES',
    'HSA_OVERRIDE_GFX_VERSION',
    'GGML_VK_DEVICE',
    'HF_HOME',
  ])('%s is', (name) => expect(isInherited(name)).toBe(true))
  it.each([
    'NODE_OPTIONS',
    'LLAMA_ARG_PORT',
    'LLAMA_API_KEY',
    'OPENAI_API_KEY',
    'HF_TOKEN',
    'HF_API_KEY',
    'LD_PRELOAD',
    'HAL0_HOME',
    'HAL0_ENGINE',
    'SSH_AUTH_SOCK',
    'path',
  ])('%s is not', (name) => expect(isInherited(name)).toBe(false))
})

describe('engineEnvironment', () => {
  it('lets later layers win, and a layer may name what is never inherited', () => {
    expect(
      engineEnvironment(
        { PATH: '/bin', TZ: 'UTC', NODE_OPTIONS: '--x', HOME: undefined },
        { TZ: 'CET' },
        { LLAMA_API_KEY: 'k' },
      ),
    ).toEqual({ PATH: '/bin', TZ: 'CET', LLAMA_API_KEY: 'k' })
  })
})

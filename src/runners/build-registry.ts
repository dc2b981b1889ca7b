import { createEmbeddedRunner } from './embedded.ts'
import { createLlamaCppRunner } from './llama-cpp.ts'
import type { RunnerRegistry } from './registry.ts'

/** What the daemon's settings say about runners. */
export interface RunnerSettings {
  /** `[runners.<key>] binary` by runner key: the llama-server that this key runs. */
  readonly binaries: Readonly<Record<string, string>>
}

/** Keys that run a llama-server, with their titles; they differ in the build that is meant. Source: SPEC 10. */
const LLAMA_CPP_KEYS: readonly (readonly [string, string])[] = [
  ['cpu', 'llama-server, CPU build'],
  ['standard', 'llama-server, ROCm or Vulkan build'],
  ['cuda', 'llama-server, CUDA build'],
]

/** The runners hal0 knows, `embedded` first. Programs are looked up when a slot starts, not here. */
export function createRunnerRegistry(settings: RunnerSettings): RunnerRegistry {
  const runners = [
    createEmbeddedRunner(),
    ...LLAMA_CPP_KEYS.map(([key, title]) => {
      const binary = settings.binaries[key]
      return createLlamaCppRunner({ key, title, env: process.env, ...(binary === undefined ? {} : { binary }) })
    }),
  ]
  return {
    find: (key) => runners.find((runner) => runner.key === key),
    all: () => runners,
  }
}

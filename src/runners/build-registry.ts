import { createEmbeddedRunner } from './embedded.ts'
import { createLlamaCppRunner } from './llama-cpp.ts'
import { LLAMA_SERVER_KEYS, type LlamaServerKey } from './llama-server-keys.ts'
import type { RunnerRegistry } from './registry.ts'
import type { Runner } from './runner.ts'

/** What the daemon's settings say about one llama-server; undefined = its own choice. */
export interface LlamaServerSettings {
  /** Absolute path; undefined = `llama-server` on PATH. */
  readonly binary?: string | undefined
  readonly onClientAbort?: Runner['onClientAbort'] | undefined
}

/** They differ in the build that is meant. */
const TITLES: Readonly<Record<LlamaServerKey, string>> = {
  cpu: 'llama-server, CPU build',
  standard: 'llama-server, ROCm or Vulkan build',
  cuda: 'llama-server, CUDA build',
}

/** The runners hal0 knows, `embedded` first. Programs are looked up when a slot starts, not here. */
export function createRunnerRegistry(
  settings: Readonly<Partial<Record<LlamaServerKey, LlamaServerSettings>>>,
): RunnerRegistry {
  const runners = [
    createEmbeddedRunner(),
    ...LLAMA_SERVER_KEYS.map((key) =>
      createLlamaCppRunner({ ...settings[key], key, title: TITLES[key], env: process.env }),
    ),
  ]
  return {
    find: (key) => runners.find((runner) => runner.key === key),
    all: () => runners,
  }
}

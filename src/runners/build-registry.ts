import { createEngineReader } from './describe-engine.ts'
import { createEmbeddedRunner } from './embedded.ts'
import { createFlmRunner } from './flm.ts'
import { createLlamaCppRunner } from './llama-cpp.ts'
import { LLAMA_SERVER_KEYS, type LlamaServerKey } from './llama-server-keys.ts'
import { createSglangRunner, createVllmRunner } from './python-engines.ts'
import type { RunnerRegistry } from './registry.ts'
import { SERVICE_RUNNERS } from './rules/service-keys.ts'
import type { Runner } from './runner.ts'
import { isRunnerKey } from './runner-keys.ts'
import type { RunnersSettings } from './runner-settings.ts'
import { createServiceRunner } from './service-runners.ts'
import { createTemplateRunner } from './template-runner.ts'

/** They differ in the build that is meant. */
const TITLES: Readonly<Record<LlamaServerKey, string>> = {
  cpu: 'llama-server, CPU build',
  standard: 'llama-server, ROCm or Vulkan build',
  cuda: 'llama-server, CUDA build',
}

/**
 * The runners hal0 knows, `embedded` first, then those of the user's own: each key with a `template` that has no other meaning.
 * Programs are looked up when a slot starts, not here. `settings`: `[runners]` of hal0.toml. `signal`: no engine is asked
 * about itself any more. Source: SPEC 10.
 */
export function createRunnerRegistry(settings: RunnersSettings, signal?: AbortSignal): RunnerRegistry {
  const { env } = process
  const reader = createEngineReader(env, { signal })
  const runners: readonly Runner[] = [
    createEmbeddedRunner(),
    ...LLAMA_SERVER_KEYS.map((key) =>
      createLlamaCppRunner({
        key,
        title: TITLES[key],
        binary: settings[key]?.binary,
        onClientAbort: settings[key]?.on_client_abort,
        env,
        reader,
      }),
    ),
    createVllmRunner({ settings: settings['vllm'] ?? {}, env, reader }),
    createSglangRunner({ settings: settings['sglang'] ?? {}, env, reader }),
    createFlmRunner({ settings: settings['flm'] ?? {}, env, reader }),
    ...SERVICE_RUNNERS.filter((key) => key !== 'flm').map((key) =>
      createServiceRunner(key, { settings: settings[key] ?? {}, env, reader }),
    ),
    ...Object.entries(settings).flatMap(([key, own]) =>
      own?.template === undefined || (isRunnerKey(key) && key !== 'custom')
        ? []
        : [createTemplateRunner({ key, settings: own, template: own.template, env })],
    ),
  ]
  return {
    find: (key) => runners.find((runner) => runner.key === key),
    all: () => runners,
  }
}

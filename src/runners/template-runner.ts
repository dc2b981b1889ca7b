import type { SlotType } from '../contract/slot-row.ts'
import { findEngine } from './find-engine.ts'
import { VLLM_SIGNATURES } from './python-signatures.ts'
import { NO_ABILITIES } from './rules/engine-facts.ts'
import type { EngineRoute, Runner } from './runner.ts'
import type { RunnerSettings } from './runner-settings.ts'
import { LLAMA_CPP_SIGNATURES } from './signatures.ts'

/** A runner that the user describes. */
export interface TemplateOptions {
  readonly key: string
  readonly settings: RunnerSettings
  /** The argv template, at least one word unless `settings.binary` names the program. */
  readonly template: readonly string[]
  /** Where PATH is read from, at every lookup. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What an engine of a type can be taken to serve when its settings do not say. */
const ROUTES_OF_TYPE: Readonly<Record<SlotType, readonly EngineRoute[]>> = {
  llm: ['/v1/chat/completions', '/v1/completions'],
  embedding: ['/v1/embeddings'],
  reranking: ['/v1/rerank'],
  transcription: ['/v1/audio/transcriptions'],
  tts: ['/v1/audio/speech'],
  image: ['/v1/images/generations'],
}

/**
 * Any program as an engine, from `[runners.<key>]` with a `template`. Its flags are the template's: its help is not read, so no
 * flag is refused. It has a key only if `key_env` says how it takes one, and is asked for it only at an `identity_path`; without
 * both it is taken for ours when it answers on the port. Source: SPEC 10 "custom".
 */
export function createTemplateRunner({ key, settings, template, env }: TemplateOptions): Runner {
  const types = settings.types ?? ['llm']
  const [first = '', ...rest] = template
  const program = settings.binary ?? first
  return {
    key,
    title: `${program.slice(program.lastIndexOf('/') + 1)}, as [runners.${key}] says`,
    dialect: 'template',
    isSelfManaged: false,
    noEffect: new Set(),
    template: settings.binary === undefined ? rest : template,
    types,
    routes: settings.routes ?? [...new Set(types.flatMap((type) => ROUTES_OF_TYPE[type]))],
    probe: {
      healthPath: settings.health_path ?? '/health',
      modelsPath: settings.models_path === '' ? undefined : (settings.models_path ?? '/v1/models'),
      identityPath: settings.key_env === undefined ? undefined : settings.identity_path,
    },
    keyEnv: settings.key_env,
    onClientAbort: settings.on_client_abort ?? 'abort',
    ...(settings.usage_on_request === true ? { usageOnRequest: true as const } : {}),
    ...(settings.stop_signal === undefined ? {} : { stopSignal: settings.stop_signal }),
    signatures: [...LLAMA_CPP_SIGNATURES, ...VLLM_SIGNATURES],
    describe: async () => ({ version: undefined, abilities: NO_ABILITIES, help: undefined }),
    findCommand: async () => [
      await findEngine({
        key,
        binary: program,
        program,
        advice: `install it, or name it by its absolute path in [runners.${key}] of hal0.toml`,
        env,
      }),
    ],
  }
}

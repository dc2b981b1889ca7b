import { createEngineReader, type EngineReader } from './describe-engine.ts'
import { findEngine } from './find-engine.ts'
import { LLM_ENGINE_ROUTES, type Runner } from './runner.ts'
import { LLAMA_CPP_SIGNATURES } from './signatures.ts'

/** Which build of llama-server a runner key stands for. */
export interface LlamaCppOptions {
  readonly key: string
  /** For people, one line. */
  readonly title: string
  /** Absolute path or program name from `[runners.<key>]`; undefined = `llama-server` on PATH. */
  readonly binary?: string | undefined
  /** Undefined = `abort`: llama-server bears it. */
  readonly onClientAbort?: Runner['onClientAbort'] | undefined
  /** Where PATH is read from, at every lookup. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absent = one of its own. */
  readonly reader?: EngineReader
}

const PROGRAM = 'llama-server'

/** It prints its help in 50 ms, but a GPU build first looks for its devices. */
const DESCRIBE_TIMEOUT_MS = 10_000

/**
 * Flags of the built-in profiles that builds before summer 2025 do not have: their cache is always shared, and what they do not reuse
 * they compute again. A build that knows them gets them.
 */
const MISSING_IN_OLD_BUILDS: ReadonlySet<string> = new Set(['--kv-unified', '--cache-reuse'])

/** llama.cpp's own `llama-server`, as found or configured. Source: SPEC 10. */
export function createLlamaCppRunner(options: LlamaCppOptions): Runner {
  const { key, binary, env, reader = createEngineReader(env) } = options
  return {
    key,
    title: options.title,
    dialect: 'llama-server',
    isSelfManaged: false,
    noEffect: MISSING_IN_OLD_BUILDS,
    describe: (command) =>
      reader.describe(command, {
        help: [[...command, '--help']],
        version: [[...command, '--version']],
        timeoutMs: DESCRIBE_TIMEOUT_MS,
      }),
    types: ['llm', 'embedding', 'reranking'],
    routes: LLM_ENGINE_ROUTES,
    probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/props' },
    keyEnv: 'LLAMA_API_KEY',
    onClientAbort: options.onClientAbort ?? 'abort',
    signatures: LLAMA_CPP_SIGNATURES,
    findCommand: async () => [
      await findEngine({
        key,
        binary,
        program: PROGRAM,
        advice:
          `install llama.cpp, or name its llama-server as binary in [runners.${key}] of hal0.toml, or give the ` +
          'slot the runner "embedded"',
        env,
      }),
    ],
  }
}

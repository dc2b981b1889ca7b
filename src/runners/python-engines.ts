import { basename } from 'node:path'
import type { EngineReader } from './describe-engine.ts'
import { findEngine } from './find-engine.ts'
import { SGLANG_SIGNATURES, VLLM_SIGNATURES } from './python-signatures.ts'
import { LLM_ENGINE_ROUTES, type Runner } from './runner.ts'
import type { RunnerSettings } from './runner-settings.ts'

/** What vLLM and SGLang need to know of where they run. */
export interface PythonEngineOptions {
  readonly settings: RunnerSettings
  /** Where PATH is read from, at every lookup. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly reader: EngineReader
}

/** Longer than for llama-server: they import PyTorch before they print anything. */
const DESCRIBE_TIMEOUT_MS = 60_000

/**
 * vLLM: `vllm serve`, by default the `vllm` on PATH; `[runners.vllm] binary` names another, for example of a virtual environment.
 * It asks for the key below /v1 only; that is where it proves who it is, and the rest is out of reach behind the gateway.
 * Source: SPEC 5 "Engine key", 10.
 */
export function createVllmRunner({ settings, env, reader }: PythonEngineOptions): Runner {
  return {
    key: 'vllm',
    title: 'vLLM',
    dialect: 'vllm',
    isSelfManaged: false,
    noEffect: new Set(),
    types: ['llm', 'embedding', 'reranking'],
    routes: LLM_ENGINE_ROUTES,
    probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/v1/models' },
    keyEnv: 'VLLM_API_KEY',
    onClientAbort: settings.on_client_abort ?? 'abort',
    usageOnRequest: true,
    signatures: VLLM_SIGNATURES,
    describe: (command) =>
      reader.describe(command, {
        // Newer ones print only groups of flags unless asked for all; older ones do not know the word.
        help: [
          [...command, '--help=all'],
          [...command, '--help'],
        ],
        version: [[command[0], '--version']],
        timeoutMs: DESCRIBE_TIMEOUT_MS,
      }),
    findCommand: async () => [
      await findEngine({
        key: 'vllm',
        binary: settings.binary,
        program: 'vllm',
        advice: 'install vLLM, or name the "vllm" of its virtual environment as binary in [runners.vllm] of hal0.toml',
        env,
      }),
      'serve',
    ],
  }
}

const isPython = (program: string): boolean => /^python[\d.]*$/.test(basename(program))

/**
 * SGLang: `sglang serve`, by default the `sglang` on PATH. `[runners.sglang] binary` names another one, or the Python of its
 * environment, which runs `-m sglang.launch_server` as older versions want it. It takes a key on the command line only, where
 * every local user could read it, so it has none: nothing keeps other local users from its port. Source: SPEC 5 "Engine key", 10.
 */
export function createSglangRunner({ settings, env, reader }: PythonEngineOptions): Runner {
  return {
    key: 'sglang',
    title: 'SGLang',
    dialect: 'sglang',
    isSelfManaged: false,
    noEffect: new Set(),
    types: ['llm', 'embedding', 'reranking'],
    routes: LLM_ENGINE_ROUTES,
    probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: undefined },
    keyEnv: undefined,
    onClientAbort: settings.on_client_abort ?? 'abort',
    usageOnRequest: true,
    signatures: SGLANG_SIGNATURES,
    describe: (command) =>
      reader.describe(command, {
        help: [[...command, '--help']],
        version: isPython(command[0])
          ? [[command[0], '-c', 'import sglang; print(sglang.__version__)']]
          : [[command[0], 'version']],
        timeoutMs: DESCRIBE_TIMEOUT_MS,
      }),
    async findCommand() {
      const program = await findEngine({
        key: 'sglang',
        binary: settings.binary,
        program: 'sglang',
        advice:
          'install SGLang, or name the "sglang" or the Python of its virtual environment as binary in ' +
          '[runners.sglang] of hal0.toml',
        env,
      })
      return isPython(program) ? [program, '-m', 'sglang.launch_server'] : [program, 'serve']
    },
  }
}

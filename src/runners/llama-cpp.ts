import { findProgram, isProgram } from '../files/find-program.ts'
import { Hal0Error } from '../kernel/errors.ts'
import type { Runner } from './runner.ts'
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
}

const PROGRAM = 'llama-server'

async function find(options: LlamaCppOptions): Promise<string> {
  const { key, binary, env } = options
  const wanted = binary ?? PROGRAM
  if (wanted.includes('/')) {
    if (await isProgram(wanted)) return wanted
    throw Hal0Error.of(
      'slot.spawn_failed',
      `runner "${key}" cannot start: [runners.${key}] names ${wanted}, which is missing or not an executable file`,
      { details: { binary: wanted } },
    )
  }
  const found = await findProgram(wanted, env['PATH'])
  if (found !== undefined) return found
  throw Hal0Error.of(
    'slot.spawn_failed',
    `runner "${key}" cannot start: no program "${wanted}" on PATH; install llama.cpp, or name its llama-server ` +
      `as binary in [runners.${key}] of hal0.toml, and start hal0 again; or give the slot the runner "embedded"`,
    { details: { binary: wanted } },
  )
}

/** llama.cpp's own `llama-server`, as found or configured. Source: SPEC 10. */
export function createLlamaCppRunner(options: LlamaCppOptions): Runner {
  return {
    key: options.key,
    title: options.title,
    dialect: 'llama-server',
    isSelfManaged: false,
    noEffect: new Set(),
    describe: async () => ({
      version: undefined,
      abilities: { jinja: true, mmproj: true, drafter: true, mtp: true, ngram: true },
      help: undefined,
    }),
    types: ['llm', 'embedding', 'reranking'],
    routes: [
      '/v1/chat/completions',
      '/v1/completions',
      '/v1/embeddings',
      '/v1/responses',
      '/v1/rerank',
      '/v1/messages',
      '/tokenize',
    ],
    probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/props' },
    keyEnv: 'LLAMA_API_KEY',
    onClientAbort: options.onClientAbort ?? 'abort',
    signatures: LLAMA_CPP_SIGNATURES,
    findCommand: async () => [await find(options)],
  }
}

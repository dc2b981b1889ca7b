import type { Runner } from './runner.ts'
import { findService, type ServiceOptions, serviceCommand, serviceProbe } from './service-runners.ts'
import { FLM_SIGNATURES } from './service-signatures.ts'

/** It answers at once, but looks for the NPU first. */
const DESCRIBE_TIMEOUT_MS = 10_000

/**
 * FastFlowLM: `flm serve TAG`, one process that chats, writes down speech and embeds on the NPU. It fetches its models itself, so a
 * slot's model is one of its tags. It takes no key. Its `--help` ends with an error and says no more than its table of flags here.
 * Source: SPEC 8 "NPU", 10.
 */
export function createFlmRunner({ settings, env, reader }: ServiceOptions): Runner {
  const { program, template } = serviceCommand(settings, 'flm')
  return {
    key: 'flm',
    title: 'FastFlowLM on the NPU',
    ...(template === undefined ? { dialect: 'flm' } : { dialect: 'template', template }),
    isSelfManaged: false,
    modelRef: 'tag',
    noEffect: new Set(),
    types: ['llm', 'embedding', 'transcription'],
    routes: ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/audio/transcriptions'],
    probe: serviceProbe(settings, { healthPath: '/health', modelsPath: '/v1/models' }),
    keyEnv: undefined,
    // The NPU works on one request at a time, whoever asks.
    concurrency: 1,
    onClientAbort: settings.on_client_abort ?? 'abort',
    ...(settings.stop_signal === undefined ? {} : { stopSignal: settings.stop_signal }),
    signatures: FLM_SIGNATURES,
    describe: (command) =>
      reader.describe(command, {
        help: [],
        version: template === undefined ? [[command[0], 'version']] : [],
        timeoutMs: DESCRIBE_TIMEOUT_MS,
      }),
    async findCommand() {
      const [found] = await findService('flm', program, env)
      return template === undefined ? [found, 'serve'] : [found]
    },
  }
}

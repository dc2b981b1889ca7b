import type { SlotType } from '../contract/slot-row.ts'
import type { EngineReader } from './describe-engine.ts'
import { findEngine } from './find-engine.ts'
import { isSelfManagedRunner, isTagRunner, type ServiceRunnerKey } from './rules/service-keys.ts'
import type { EngineRoute, ProbeSpec, Runner } from './runner.ts'
import type { RunnerSettings } from './runner-settings.ts'
import { SERVICE_SIGNATURES } from './service-signatures.ts'

/** What a runner of a separately installed server needs to know of where it runs. */
export interface ServiceOptions {
  readonly settings: RunnerSettings
  /** Where PATH is read from, at every lookup. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly reader: EngineReader
}

/** What hal0 knows of a server, however it was installed. */
interface ServiceFacts {
  readonly title: string
  readonly types: readonly SlotType[]
  readonly routes: readonly EngineRoute[]
  /** Looked for on PATH when nothing is configured. */
  readonly program: string
  /** What follows it. */
  readonly words: readonly string[]
  readonly probe: Pick<ProbeSpec, 'healthPath' | 'modelsPath'>
}

/** What uvicorn and all that is made with it take. */
const UVICORN_WORDS = ['--host', '${HOST}', '--port', '${PORT}'] as const
const OPENAI_PROBE = { healthPath: '/health', modelsPath: '/v1/models' } as const

const SPEECH = { types: ['tts'], routes: ['/v1/audio/speech'], words: UVICORN_WORDS, probe: OPENAI_PROBE } as const

const SERVICES: Readonly<Record<Exclude<ServiceRunnerKey, 'flm'>, ServiceFacts>> = {
  kokoro: { ...SPEECH, title: 'Kokoro, text to speech', program: 'kokoro-server' },
  qwen3tts: { ...SPEECH, title: 'Qwen3-TTS, text to speech', program: 'qwen3-tts-server' },
  vibevoice: { ...SPEECH, title: 'VibeVoice, text to speech', program: 'vibevoice-server' },
  moonshine: {
    title: 'Moonshine, speech to text',
    types: ['transcription'],
    routes: ['/v1/audio/transcriptions'],
    program: 'moonshine-server',
    words: UVICORN_WORDS,
    probe: OPENAI_PROBE,
  },
  comfyui: {
    title: 'ComfyUI, images',
    types: ['image'],
    routes: ['/v1/images/generations'],
    program: 'comfyui',
    words: ['--listen', '${HOST}', '--port', '${PORT}', '--disable-auto-launch'],
    // It has no list of loaded models: it loads what a render asks for.
    probe: { healthPath: '/system_stats', modelsPath: undefined },
  },
}

/** How a server is started. */
export interface ServiceCommand {
  /** Absolute path or a name on PATH. */
  readonly program: string
  /** What follows the program, as the user wrote it; undefined = hal0's own words. */
  readonly template: readonly string[] | undefined
}

/** Which program is started, and with whose words: `[runners.<key>]`, else `program`. Source: docs/runners.md. */
export function serviceCommand({ binary, template }: RunnerSettings, program: string): ServiceCommand {
  if (template === undefined) return { program: binary ?? program, template: undefined }
  // With both the template is all that follows the program, as for a runner of the user's own.
  if (binary !== undefined) return { program: binary, template }
  return { program: template[0] ?? program, template: template.slice(1) }
}

/** The paths at which a server is looked at; a configured one wins, and '' stands for a list that it does not have. */
export function serviceProbe(
  { health_path: healthPath, models_path: modelsPath }: RunnerSettings,
  own: ServiceFacts['probe'],
): ProbeSpec {
  return {
    healthPath: healthPath ?? own.healthPath,
    modelsPath: modelsPath === undefined ? own.modelsPath : modelsPath === '' ? undefined : modelsPath,
    identityPath: undefined,
  }
}

/** Where the program of a service is; errors as `findEngine`. */
export async function findService(
  key: ServiceRunnerKey,
  program: string,
  env: ServiceOptions['env'],
): Promise<readonly [string]> {
  const advice =
    `install it and put it, or a script of this name that starts it, there, or name it as binary or template in [runners.${key}] ` +
    'of hal0.toml'
  return [await findEngine({ key, binary: program, program, advice, env })]
}

/**
 * A server for speech or images that the user installed: what it serves and how it is looked at is known; how it is started too, unless
 * `[runners.<key>]` says it. None of them takes a key, so nothing keeps other local users from its port. Source: SPEC 5, 10.
 */
export function createServiceRunner(
  key: Exclude<ServiceRunnerKey, 'flm'>,
  { settings, env, reader }: ServiceOptions,
): Runner {
  const facts = SERVICES[key]
  const { program, template } = serviceCommand(settings, facts.program)
  return {
    key,
    title: facts.title,
    dialect: 'template',
    template: template ?? facts.words,
    isSelfManaged: isSelfManagedRunner(key),
    ...(isTagRunner(key) ? { modelRef: 'tag' as const } : {}),
    noEffect: new Set(),
    types: facts.types,
    routes: facts.routes,
    probe: serviceProbe(settings, facts.probe),
    keyEnv: undefined,
    onClientAbort: settings.on_client_abort ?? 'abort',
    ...(settings.stop_signal === undefined ? {} : { stopSignal: settings.stop_signal }),
    signatures: SERVICE_SIGNATURES,
    // What a start script does with --help is unknown; which build it is can be told without running it.
    describe: (command) => reader.describe(command, { help: [], version: [], timeoutMs: 0 }),
    findCommand: () => findService(key, program, env),
  }
}

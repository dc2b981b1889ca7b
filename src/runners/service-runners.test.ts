import { describe, expect, it } from 'vitest'
import { createRunnerRegistry } from './build-registry.ts'
import { createEngineReader } from './describe-engine.ts'
import { createFlmRunner } from './flm.ts'
import { explainFailure } from './rules/explain-failure.ts'
import { SELF_MANAGED_RUNNERS, SERVICE_RUNNERS, type ServiceRunnerKey } from './rules/service-keys.ts'
import type { RunnerSettings } from './runner-settings.ts'
import { createServiceRunner } from './service-runners.ts'

const reader = createEngineReader({})
const make = (key: ServiceRunnerKey, settings: RunnerSettings = {}, PATH = '/nowhere') => {
  const options = { settings, env: { PATH }, reader }
  return key === 'flm' ? createFlmRunner(options) : createServiceRunner(key, options)
}

describe('what hal0 knows of each', () => {
  it.each<[ServiceRunnerKey, string, readonly string[], string]>([
    ['kokoro', 'tts', ['/v1/audio/speech'], '/health /v1/models'],
    ['qwen3tts', 'tts', ['/v1/audio/speech'], '/health /v1/models'],
    ['vibevoice', 'tts', ['/v1/audio/speech'], '/health /v1/models'],
    ['moonshine', 'transcription', ['/v1/audio/transcriptions'], '/health /v1/models'],
    ['comfyui', 'image', ['/v1/images/generations'], '/system_stats undefined'],
    [
      'flm',
      'llm,embedding,transcription',
      ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/audio/transcriptions'],
      '/health /v1/models',
    ],
  ])('%s', (key, types, routes, probe) => {
    const runner = make(key)
    expect(runner.types.join()).toBe(types)
    expect(runner.routes).toEqual(routes)
    expect(`${runner.probe.healthPath} ${runner.probe.modelsPath}`).toBe(probe)
    expect(runner.keyEnv).toBeUndefined()
    expect(runner.isSelfManaged).toBe(SELF_MANAGED_RUNNERS.some((one) => one === key))
    expect(runner.modelRef).toBe(key === 'flm' || key === 'comfyui' ? 'tag' : undefined)
  })

  it('is in the registry, under its key', () => {
    const registry = createRunnerRegistry({})
    expect(SERVICE_RUNNERS.map((key) => registry.find(key)?.key)).toEqual(SERVICE_RUNNERS)
  })
})

describe('why one ended', () => {
  it.each<[ServiceRunnerKey, string, string, string]>([
    ['kokoro', "ModuleNotFoundError: No module named 'kokoro'", 'missing_library', 'environment'],
    ['kokoro', 'RuntimeError: espeak not installed on your system', 'missing_library', 'espeak-ng'],
    [
      'kokoro',
      'ERROR:    Error loading ASGI app. Could not import module "api.src.main".',
      'missing_library',
      'template',
    ],
    [
      'moonshine',
      "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8081): address already in use",
      'port_in_use',
      'port',
    ],
    ['vibevoice', "FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'", 'missing_library', 'ffmpeg'],
    ['qwen3tts', 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB', 'out_of_memory', 'memory'],
    ['comfyui', 'torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed', 'out_of_memory', '--lowvram'],
    [
      'comfyui',
      "python: can't open file '/opt/ComfyUI/main.py': [Errno 2] No such file",
      'missing_library',
      'template',
    ],
    ['comfyui', 'main.py: error: unrecognized arguments: --lowwram', 'bad_flag', 'profile'],
    ['comfyui', 'RuntimeError: Found no NVIDIA driver on your system.', 'missing_library', 'driver'],
    ['flm', '[ERROR]  No NPU device found.', 'missing_library', 'render'],
    [
      'flm',
      '[ERROR]  NPU firmware version on /dev/accel/accel0 is incompatible. Please update',
      'missing_library',
      'firmware',
    ],
    ['flm', '[ERROR]  amdxdna version 0.0 is incompatible', 'missing_library', 'amdxdna'],
    ['flm', "[XRT] ERROR: No such device with index '0'", 'missing_library', 'driver'],
    ['flm', 'flm: error while loading shared libraries: libxrt_coreutil.so.2: cannot open', 'missing_library', 'XRT'],
    ['flm', '[ERROR]  Memlock limit is too low (8MB). Please raise the limit', 'out_of_memory', 'LimitMEMLOCK'],
    ['flm', '[XRT] ERROR: Failed to submit the command to the hw queue (0xc01e0200):', 'out_of_memory', 'ctx_size'],
    ['flm', '[ERROR]  Model not found: x:1b; Please check with `flm list` and try again.', 'bad_file', 'flm list'],
    ['flm', 'terminate called: what():  bind: Address already in use', 'port_in_use', 'port'],
    ['flm', "Error parsing arguments: unrecognised option '--asr'", 'bad_flag', 'flag'],
  ])('%s: %s', (key, line, cause, remedy) => {
    const lines = ['starting', line, 'aborted']
    expect(explainFailure(lines, make(key).signatures)).toMatchObject({
      line,
      cause,
      remedy: expect.stringContaining(remedy),
    })
  })
})

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRunnerRegistry } from './build-registry.ts'
import { createEngineReader } from './describe-engine.ts'
import { createLlamaCppRunner } from './llama-cpp.ts'
import { createSglangRunner, createVllmRunner } from './python-engines.ts'
import { SELF_MANAGED_RUNNERS } from './rules/service-keys.ts'
import { RUNNER_KEYS } from './runner-keys.ts'
import type { RunnerSettings } from './runner-settings.ts'
import { createTemplateRunner } from './template-runner.ts'

describe('createRunnerRegistry', () => {
  it('knows the runners by key, embedded first', () => {
    const registry = createRunnerRegistry({})
    expect(registry.all().map(({ key, keyEnv, dialect }) => [key, keyEnv, dialect])).toEqual([
      ['embedded', 'HAL0_EMBEDDED_API_KEY', 'llama-server'],
      ['cpu', 'LLAMA_API_KEY', 'llama-server'],
      ['standard', 'LLAMA_API_KEY', 'llama-server'],
      ['cuda', 'LLAMA_API_KEY', 'llama-server'],
      ['vllm', 'VLLM_API_KEY', 'vllm'],
      ['sglang', undefined, 'sglang'],
      ['flm', undefined, 'flm'],
      ['kokoro', undefined, 'template'],
      ['qwen3tts', undefined, 'template'],
      ['moonshine', undefined, 'template'],
      ['vibevoice', undefined, 'template'],
      ['comfyui', undefined, 'template'],
    ])
    expect(registry.find('vllm')?.key).toBe('vllm')
    expect(registry.find('nobody')).toBeUndefined()
    expect(registry.find('custom')).toBeUndefined()
  })

  it('asks an engine who it is exactly where it has a key', () => {
    for (const { key, keyEnv, probe } of createRunnerRegistry({}).all()) {
      expect([key, probe.identityPath !== undefined]).toEqual([key, keyEnv !== undefined])
    }
  })

  it('gives each what its settings say', () => {
    const registry = createRunnerRegistry({
      cuda: { on_client_abort: 'drain' },
      vllm: { on_client_abort: 'drain' },
      sglang: { on_client_abort: 'drain' },
    })
    const drains = registry.all().filter((runner) => runner.onClientAbort === 'drain')
    expect(drains.map((runner) => runner.key)).toEqual(['cuda', 'vllm', 'sglang'])
  })

  it('adds a runner for each template under a key of its own, last', () => {
    const template = ['serve', '--port', '${PORT}']
    const registry = createRunnerRegistry({ mine: { template }, custom: { template }, kokoro: { template }, plain: {} })
    expect(
      registry
        .all()
        .map((runner) => runner.key)
        .slice(-3),
    ).toEqual(['comfyui', 'mine', 'custom'])
    expect(registry.all().filter(({ key }) => key === 'kokoro')).toHaveLength(1)
    expect(registry.find('mine')).toMatchObject({ dialect: 'template', template: ['--port', '${PORT}'] })
  })

  it('names every runner, and which bring their model', () => {
    expect(RUNNER_KEYS).toHaveLength(13)
    expect(SELF_MANAGED_RUNNERS).toEqual(['kokoro', 'qwen3tts', 'moonshine', 'vibevoice'])
    expect(
      createRunnerRegistry({})
        .all()
        .map((runner) => runner.key),
    ).toEqual(RUNNER_KEYS.filter((key) => key !== 'custom'))
  })
})

describe('a runner of the user', () => {
  const make = (settings: RunnerSettings, template = ['my-engine', '-p', '${PORT}']) =>
    createTemplateRunner({ key: 'mine', settings, template, env: {} })

  it('serves chat on the usual paths, without a key, when only its template is known', () => {
    expect(make({})).toMatchObject({
      title: 'my-engine, as [runners.mine] says',
      template: ['-p', '${PORT}'],
      types: ['llm'],
      routes: ['/v1/chat/completions', '/v1/completions'],
      probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: undefined },
      keyEnv: undefined,
      onClientAbort: 'abort',
      isSelfManaged: false,
    })
    expect('stopSignal' in make({})).toBe(false)
  })

  it('is what its settings say', () => {
    expect(
      make({
        types: ['embedding', 'reranking'],
        health_path: '/up',
        models_path: '/models',
        identity_path: '/who',
        key_env: 'MY_KEY',
        stop_signal: 'SIGINT',
        on_client_abort: 'drain',
      }),
    ).toMatchObject({
      types: ['embedding', 'reranking'],
      routes: ['/v1/embeddings', '/v1/rerank'],
      probe: { healthPath: '/up', modelsPath: '/models', identityPath: '/who' },
      keyEnv: 'MY_KEY',
      stopSignal: 'SIGINT',
      onClientAbort: 'drain',
    })
    expect(make({ routes: ['/tokenize'] }).routes).toEqual(['/tokenize'])
    const media = make({ types: ['tts', 'transcription', 'image'], models_path: '' })
    expect(media.routes).toEqual(['/v1/audio/speech', '/v1/audio/transcriptions', '/v1/images/generations'])
    expect(media.probe.modelsPath).toBeUndefined()
  })

  it('takes `binary` for the program, and the whole template for what follows', async () => {
    const runner = make({ binary: process.execPath }, ['serve.js', '${PORT}'])
    expect(runner.template).toEqual(['serve.js', '${PORT}'])
    expect(await runner.findCommand()).toEqual([process.execPath])
  })

  it('asks for no key at an identity path that could not check one', () => {
    expect(make({ identity_path: '/who' }).probe.identityPath).toBeUndefined()
  })

  it('is not asked about itself: what it would do with --help is unknown', async () => {
    expect(await make({}).describe(['/bin/sh'])).toMatchObject({ version: undefined, help: undefined })
  })

  it('says what was looked for', async () => {
    await expect(make({}).findCommand()).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringMatching(/runner "mine".*"my-engine" on PATH; .*\[runners\.mine\]/),
    })
  })
})

describe('where vLLM and SGLang are found', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-runners-'))
    for (const name of ['vllm', 'sglang', 'python3.12']) {
      await writeFile(join(folder, name), '#!/bin/sh\n')
      await chmod(join(folder, name), 0o755)
    }
  })
  afterEach(() => rm(folder, { recursive: true }))
  const options = (settings: RunnerSettings, PATH?: string) => {
    const env = { PATH }
    return { settings, env, reader: createEngineReader(env) }
  }

  it('is PATH, where nothing is configured', async () => {
    expect(await createVllmRunner(options({}, folder)).findCommand()).toEqual([join(folder, 'vllm'), 'serve'])
    expect(await createSglangRunner(options({}, folder)).findCommand()).toEqual([join(folder, 'sglang'), 'serve'])
  })

  it('is the configured program; for SGLang also a Python', async () => {
    const vllm = createVllmRunner(options({ binary: join(folder, 'vllm') }))
    expect(await vllm.findCommand()).toEqual([join(folder, 'vllm'), 'serve'])
    const python = join(folder, 'python3.12')
    const sglang = createSglangRunner(options({ binary: python }))
    expect(await sglang.findCommand()).toEqual([python, '-m', 'sglang.launch_server'])
  })

  it.each([
    ['vllm', createVllmRunner],
    ['sglang', createSglangRunner],
  ])('says what was looked for: %s', async (key, create) => {
    await expect(create(options({}, '/nowhere')).findCommand()).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringMatching(new RegExp(`"${key}" on PATH; .*\\[runners\\.${key}\\] of hal0\\.toml$`)),
    })
  })

  it('asks vLLM for all of its help, and an older one for what it has', async () => {
    const program = join(folder, 'vllm')
    await writeFile(
      program,
      `#!/bin/sh
case "$*" in
  "serve --help=all") echo "vllm serve: error: argument -h/--help: ignored explicit argument 'all'" >&2; exit 2;;
  "serve --help") echo "  --port PORT   where to listen";;
  --version) echo "INFO 11-30 [importing.py] Triton is installed"; echo 0.8.4;;
esac
`,
    )
    const runner = createVllmRunner(options({}, folder))
    const facts = await runner.describe([program, 'serve'])
    expect(facts.version).toBe('0.8.4')
    expect(facts.help?.flags.get('--port')?.values).toBe(1)
    expect(facts.abilities).toEqual({ jinja: false, mmproj: false, drafter: false, mtp: false, ngram: false })
  })
})

describe('where llama-server is found', () => {
  let folder: string
  let program: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-runners-'))
    program = join(folder, 'llama-server')
    await writeFile(program, '#!/bin/sh\n')
    await chmod(program, 0o755)
  })
  afterEach(() => rm(folder, { recursive: true }))
  const find = (options: { binary?: string; PATH?: string }) =>
    createLlamaCppRunner({
      key: 'cpu',
      title: 'llama-server',
      env: { PATH: options.PATH },
      ...(options.binary === undefined ? {} : { binary: options.binary }),
    }).findCommand()

  it('is PATH, where nothing is configured', async () => {
    expect(await find({ PATH: `/nowhere:${folder}` })).toEqual([program])
  })

  it('is the configured file, whatever PATH says', async () => {
    expect(await find({ binary: program, PATH: '/nowhere' })).toEqual([program])
  })

  it('is PATH for a configured name', async () => {
    expect(await find({ binary: 'llama-server', PATH: folder })).toEqual([program])
  })

  it('says what was looked for, where, and how to get it', async () => {
    await expect(find({ PATH: '/nowhere' })).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringMatching(/"llama-server" on PATH; .*\[runners\.cpu\].*"embedded"/),
    })
    await chmod(program, 0o644)
    await expect(find({ binary: program })).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringContaining(`names ${program}, which is missing or not an executable file`),
    })
  })
})
